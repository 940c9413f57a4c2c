package subscriptions

// ClientCertificates are those that subscriptions may name, to show them to
// their endpoints.
type ClientCertificates interface {
	// Has tells whether there is one of this name.
	Has(name string) bool
}

const maxCertificateName = 63

// IsCertificateName tells whether a client certificate can have this name, which
// is also the name of a file.
func IsCertificateName(name string) bool {
	if name == "" || len(name) > maxCertificateName || name[0] == '.' || name[0] == '-' {
		return false
	}
	for _, r := range name {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '-' || r == '_') {
			return false
		}
	}
	return true
}

// certificateExists refuses a client certificate that this server does not have.
// One that was there when it was set may have gone since, which is no reason to
// refuse other changes.
func (s *Service) certificateExists(sub Subscription, before string) error {
	name := sub.ClientCertificate
	if name == "" || name == before {
		return nil
	}
	if s.certificates == nil {
		return Errorf(InvalidArgument, "postrider.clientCertificate: this server has no client certificates; its operator can name a folder of them")
	}
	if !IsCertificateName(name) || !s.certificates.Has(name) {
		return Errorf(InvalidArgument, "postrider.clientCertificate: this server has no client certificate %q", clip(name, 64))
	}
	return nil
}
