package private

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// socketLimit is how long a socket's path may be: macOS has room for 104 bytes, Linux for 108, and the last is a zero.
const socketLimit = 103

// elsewhere begins the name of a temporary folder that holds a socket alone.
const elsewhere = "postrider-"

// chooseSocket is where Redis listens: in its own folder, or if that has too long a name, or is on a disk that takes no
// sockets, as folders that a container shares with its host may be, in a temporary one.
func chooseSocket(dir string) (string, error) {
	if path := filepath.Join(dir, socketName); len(path) <= socketLimit && takesSocket(path) {
		return path, nil
	}
	base := os.TempDir()
	if len(base) > socketLimit/2 {
		base = "/tmp"
	}
	dir, err := os.MkdirTemp(base, elsewhere) // for us alone (0700)
	return filepath.Join(dir, socketName), err
}

// takesSocket tries it. A socket that is left there is nobody's: the folder is locked.
func takesSocket(path string) bool {
	_ = os.Remove(path)
	listener, err := net.Listen("unix", path)
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

// removeSocket removes a socket, with the temporary folder that was made for it.
func removeSocket(path string) {
	_ = os.Remove(path)
	if dir := filepath.Dir(path); strings.HasPrefix(filepath.Base(dir), elsewhere) {
		_ = os.Remove(dir) // only if nothing else is in it
	}
}

// removeOldSocket removes what a killed server left behind.
func (f *folder) removeOldSocket() {
	if _, socket := f.signature(); filepath.Base(socket) == socketName {
		removeSocket(socket)
	}
}

// socketURL is the form that the store and go-redis read. An @ may not stand for itself there.
func socketURL(path string) string {
	u := url.URL{Scheme: "unix", Path: path}
	return strings.ReplaceAll(u.String(), "@", "%40")
}
