package server

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// Issuer is who signs the tokens of pushes.
type Issuer interface {
	// URL is its name.
	URL() string
	// PublicKeys are what tokens are verified with, as a JSON Web Key Set. UNAVAILABLE.
	PublicKeys(context.Context) ([]byte, error)
}

// Where receivers look: the first path is OpenID Connect Discovery's, the second is named there.
const (
	wellKnown     = "/.well-known/"
	discoveryPath = wellKnown + "openid-configuration"
	keySetPath    = wellKnown + "jwks.json"
	// keptByReceivers is short beside the day for which a key is known before it signs.
	keptByReceivers = "public, max-age=3600"
)

// isPublic tells whether a path is for everybody, under whatever name they know the server: what is there is meant to be read.
func isPublic(path string) bool { return path == discoveryPath || path == keySetPath }

// underIssuer lets receivers find what is public below the path of the issuer's URL, too, for a load balancer that leaves it
// in requests.
func (h *handler) underIssuer(next http.Handler) http.Handler {
	if h.options.Issuer == nil {
		return next
	}
	issuer, err := url.Parse(h.options.Issuer.URL())
	if err != nil || issuer.Path == "" {
		return next
	}
	below := http.StripPrefix(issuer.Path, next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path, ok := strings.CutPrefix(r.URL.Path, issuer.Path); ok && isPublic(path) {
			below.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// GetOpenIDConfiguration tells who signs push tokens.
func (h *handler) GetOpenIDConfiguration(context.Context, api.GetOpenIDConfigurationRequestObject) (api.GetOpenIDConfigurationResponseObject, error) {
	if h.options.Issuer == nil {
		return nil, errNoIssuer()
	}
	issuer := h.options.Issuer.URL()
	body, err := wire.Marshal(api.OpenIDConfiguration{
		Issuer:                           issuer,
		JwksURI:                          issuer + keySetPath,
		ResponseTypesSupported:           []string{"id_token"},
		SubjectTypesSupported:            []string{"public"},
		IDTokenSigningAlgValuesSupported: []string{"RS256"},
		ClaimsSupported:                  []string{"iss", "sub", "azp", "aud", "email", "email_verified", "iat", "exp"},
	})
	return keepable(body), err
}

// GetPublicKeys hands out what push tokens are verified with.
func (h *handler) GetPublicKeys(ctx context.Context, _ api.GetPublicKeysRequestObject) (api.GetPublicKeysResponseObject, error) {
	if h.options.Issuer == nil {
		return nil, errNoIssuer()
	}
	keys, err := h.options.Issuer.PublicKeys(ctx)
	return keepable(keys), err
}

func errNoIssuer() error {
	return subscriptions.Errorf(subscriptions.NotFound, "this server signs no push tokens")
}

// keepable is an answer in JSON that its reader may keep for a while.
type keepable []byte

func (k keepable) write(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", keptByReceivers)
	_, err := w.Write(k)
	return err
}

// VisitGetOpenIDConfigurationResponse implements the generated interface.
func (k keepable) VisitGetOpenIDConfigurationResponse(w http.ResponseWriter) error { return k.write(w) }

// VisitGetPublicKeysResponse implements the generated interface.
func (k keepable) VisitGetPublicKeysResponse(w http.ResponseWriter) error { return k.write(w) }
