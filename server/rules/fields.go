// Package rules holds what REST and gRPC have in common beside the domain: which fields are not built yet, what an absent
// value means, and how an error reads.
package rules

import (
	"strings"

	"postrider/subscriptions"
)

// Fields tells whether a request is about the field of this path, in lowerCamel.
type Fields func(path string) bool

// EveryField is what a creation is about.
func EveryField(string) bool { return true }

// Masked is what a change is about: the fields that its mask names, what they hold, and what holds them. The rest of the
// request has no effect, so nothing of it is judged.
func Masked(mask []string) Fields {
	return func(path string) bool {
		for _, named := range mask {
			if named == path || strings.HasPrefix(path, named+".") || strings.HasPrefix(named, path+".") {
				return true
			}
		}
		return false
	}
}

// unbuilt is a field that Pub/Sub has and this server does not support yet.
type unbuilt struct {
	path string
	set  bool // to something other than what it is without being set
}

// refuse fails with UNIMPLEMENTED when one of the fields that a request is about is set.
func refuse(about Fields, list []unbuilt) error {
	for _, field := range list {
		if field.set && about(field.path) {
			return subscriptions.Unbuilt(field.path)
		}
	}
	return nil
}

// UnbuiltOfTopic tells which of the fields of a topic that are not built are set to something.
type UnbuiltOfTopic struct {
	SchemaSettings, KmsKeyName, MessageStoragePolicy, IngestionDataSourceSettings, MessageTransforms bool
}

// Refuse fails with UNIMPLEMENTED when a field is set that the request is about.
func (u UnbuiltOfTopic) Refuse(about Fields) error {
	return refuse(about, []unbuilt{
		{"schemaSettings", u.SchemaSettings},
		{"kmsKeyName", u.KmsKeyName},
		{"messageStoragePolicy", u.MessageStoragePolicy},
		{"ingestionDataSourceSettings", u.IngestionDataSourceSettings},
		{"messageTransforms", u.MessageTransforms},
	})
}

// UnbuiltOfSubscription is UnbuiltOfTopic for a subscription.
type UnbuiltOfSubscription struct {
	BigqueryConfig, BigtableConfig, CloudStorageConfig, MessageTransforms bool
}

// Refuse fails with UNIMPLEMENTED when a field is set that the request is about.
func (u UnbuiltOfSubscription) Refuse(about Fields) error {
	return refuse(about, []unbuilt{
		{"bigqueryConfig", u.BigqueryConfig},
		{"bigtableConfig", u.BigtableConfig},
		{"cloudStorageConfig", u.CloudStorageConfig},
		{"messageTransforms", u.MessageTransforms},
	})
}

// UnservedMethod is the error for a method that Pub/Sub has and this server has not yet.
func UnservedMethod(name string) error {
	return subscriptions.Errorf(subscriptions.Unimplemented, "%s: this server does not support the method yet", name)
}
