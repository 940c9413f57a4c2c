package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"time"
)

//go:embed assets
var assetFiles embed.FS

// asset is an embedded file. Its address holds a hash of what is in it, so that browsers may keep it for ever.
type asset struct {
	content []byte
	path    string
}

var assets = loadAssets()

func loadAssets() map[string]asset {
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err) // cannot happen: it is embedded
	}
	all := map[string]asset{}
	for _, e := range entries {
		content, err := assetFiles.ReadFile(path.Join("assets", e.Name()))
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(content)
		all[e.Name()] = asset{content, "/assets/" + hex.EncodeToString(sum[:6]) + "/" + e.Name()}
	}
	return all
}

// assetPath is the address of an embedded file.
func assetPath(name string) string { return assets[name].path }

// serveAsset hands out an embedded file. One of another version of the server is not there: the page that wants it is older,
// or newer, than this server, and is right when it is loaded again.
func (s *Site) serveAsset(w http.ResponseWriter, r *http.Request) {
	a := assets[r.PathValue("name")]
	if a.path != r.URL.Path {
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, "there is no such file in this version", http.StatusNotFound)
		return
	}
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, r.PathValue("name"), time.Time{}, bytes.NewReader(a.content))
}
