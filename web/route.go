package web

import "net/http"

// route says which addresses are the page's. Those of resources are their names.
func (s *Site) route() {
	s.mux.HandleFunc("GET /assets/{hash}/{name}", s.serveAsset)
	s.mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, assetPath("icon.svg"), http.StatusFound)
	})
	s.mux.Handle("GET /{$}", s.show(s.overview))
}
