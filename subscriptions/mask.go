package subscriptions

import (
	"slices"
	"strings"
)

// fieldKind says what an update may do with a field.
type fieldKind int8

const (
	mutable fieldKind = iota
	// fixed is set at creation for good.
	fixed
	// unbuilt fields cannot hold anything but their default, which transports
	// see to (see Unbuilt), so that naming them in a mask changes nothing.
	unbuilt
)

var topicFields = map[string]fieldKind{
	"name":                        fixed,
	"labels":                      mutable,
	"state":                       fixed,
	"satisfiesPzs":                fixed,
	"messageRetentionDuration":    mutable,
	"messageStoragePolicy":        unbuilt,
	"kmsKeyName":                  unbuilt,
	"schemaSettings":              unbuilt,
	"ingestionDataSourceSettings": unbuilt,
	"messageTransforms":           unbuilt,
	"tags":                        unbuilt,
}

var subscriptionFields = map[string]fieldKind{
	"name":                          fixed,
	"topic":                         fixed,
	"filter":                        fixed,
	"enableMessageOrdering":         fixed,
	"state":                         fixed,
	"detached":                      fixed,
	"topicMessageRetentionDuration": fixed,
	"analyticsHubSubscriptionInfo":  fixed,
	"postrider.expireTime":          fixed,
	"postrider.routing":             fixed,
	"postrider.routing.attribute":   fixed,
	"postrider.routing.pattern":     fixed,

	"ackDeadlineSeconds":                       mutable,
	"enableExactlyOnceDelivery":                mutable,
	"labels":                                   mutable,
	"messageRetentionDuration":                 mutable,
	"retainAckedMessages":                      mutable,
	"pushConfig":                               mutable,
	"pushConfig.pushEndpoint":                  mutable,
	"pushConfig.attributes":                    mutable,
	"pushConfig.oidcToken":                     mutable,
	"pushConfig.oidcToken.serviceAccountEmail": mutable,
	"pushConfig.oidcToken.audience":            mutable,
	"pushConfig.noWrapper":                     mutable,
	"pushConfig.noWrapper.writeMetadata":       mutable,
	"pushConfig.pubsubWrapper":                 mutable,
	"expirationPolicy":                         mutable,
	"expirationPolicy.ttl":                     mutable,
	"deadLetterPolicy":                         mutable,
	"deadLetterPolicy.deadLetterTopic":         mutable,
	"deadLetterPolicy.maxDeliveryAttempts":     mutable,
	"retryPolicy":                              mutable,
	"retryPolicy.minimumBackoff":               mutable,
	"retryPolicy.maximumBackoff":               mutable,
	"postrider":                                mutable,
	"postrider.clientCertificate":              mutable,
	"postrider.webhookSecrets":                 mutable,
	"postrider.terminalAnswers":                mutable,
	"postrider.pushLimits":                     mutable,
	"postrider.expiredMessages":                mutable,

	"bigqueryConfig":     unbuilt,
	"bigtableConfig":     unbuilt,
	"cloudStorageConfig": unbuilt,
	"messageTransforms":  unbuilt,
	"tags":               unbuilt,
}

// Unbuilt is the error for a field that the API knows and this server does not
// support yet, so that a setting never passes in silence.
func Unbuilt(field string) error {
	return Errorf(Unimplemented, "%s: this server does not support the field yet", field)
}

// maskFields reads the paths of an update mask, in lowerCamel or snake_case, as
// a set of lowerCamel paths. An empty mask, an unknown path, and a field that
// cannot be changed are INVALID_ARGUMENT.
func maskFields(mask []string, known map[string]fieldKind) (map[string]bool, error) {
	if len(mask) == 0 {
		return nil, Errorf(InvalidArgument, "updateMask: at least one field must be named")
	}
	set := map[string]bool{}
	for _, path := range mask {
		camel := camelCase(path)
		kind, ok := known[camel]
		switch {
		case !ok:
			return nil, Errorf(InvalidArgument, "updateMask: %q is not a field of this resource", clip(path, 64))
		case kind == fixed:
			return nil, Errorf(InvalidArgument, "updateMask: %s cannot be changed after creation", camel)
		}
		set[camel] = true
	}
	return set, nil
}

// MaskPaths splits the comma-separated form of a mask that REST uses.
func MaskPaths(s string) []string {
	return slices.DeleteFunc(strings.Split(s, ","), func(p string) bool { return p == "" })
}

// camelCase turns message_retention_duration into messageRetentionDuration.
func camelCase(path string) string {
	var b strings.Builder
	up := false
	for _, r := range path {
		switch {
		case r == '_':
			up = true
			continue
		case up && r >= 'a' && r <= 'z':
			r -= 'a' - 'A'
		}
		up = false
		b.WriteRune(r)
	}
	return b.String()
}
