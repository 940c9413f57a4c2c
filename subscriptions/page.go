package subscriptions

import "strings"

// Page asks for a part of a list. Size 0 means DefaultPageSize; a larger one
// than MaxPageSize is cut to it.
type Page struct {
	Size  int
	Token string
}

// Sizes of a page of a list.
const (
	DefaultPageSize = 100
	MaxPageSize     = 1_000
)

// pageTokenPrefix tells a token of ours, and its version, from other text.
const pageTokenPrefix = "1:"

// start validates the page and returns its size and the key after which it starts.
func (p Page) start() (size int, after string, err error) {
	if p.Size < 0 {
		return 0, "", Errorf(InvalidArgument, "pageSize: %d is out of range: it must be 0 (for the default of %d) or more", p.Size, DefaultPageSize)
	}
	size = min(p.Size, MaxPageSize)
	if size == 0 {
		size = DefaultPageSize
	}
	if p.Token == "" {
		return size, "", nil
	}
	b, err := decodeOpaque(p.Token)
	after, ok := strings.CutPrefix(string(b), pageTokenPrefix)
	if err != nil || !ok || after == "" {
		return 0, "", badPageToken(p.Token)
	}
	return size, after, nil
}

func badPageToken(token string) error {
	return Errorf(InvalidArgument, "pageToken: %q is not a token of an earlier answer", clip(token, 64))
}

// pageToken is the token of the page that starts after this key.
func pageToken(last string) string {
	return opaqueEncoding.EncodeToString([]byte(pageTokenPrefix + last))
}

// listed collects a page of active records. fetch lists records of any phase;
// one record more than the page tells whether there is a next page.
func listed[T any](size int, after string, key func(T) string, active func(T) bool, fetch func(after string, limit int) ([]T, error)) ([]T, string, error) {
	var page []T
	for {
		batch, err := fetch(after, size+1)
		if err != nil {
			return nil, "", err
		}
		for _, r := range batch {
			after = key(r)
			if !active(r) {
				continue
			}
			if len(page) == size {
				return page, pageToken(key(page[size-1])), nil
			}
			page = append(page, r)
		}
		if len(batch) < size+1 {
			return page, "", nil
		}
	}
}
