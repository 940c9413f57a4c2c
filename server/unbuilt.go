package server

import (
	"bytes"

	"postrider/server/api"
	"postrider/server/wire"
	"postrider/subscriptions"
)

// unbuilt is a field that Pub/Sub has and this server does not support yet.
type unbuilt struct {
	path string
	set  bool // to something other than what it is without being set
}

// refuseUnbuilt fails with UNIMPLEMENTED when one of the fields that a request is about is set.
func refuseUnbuilt(about fields, list []unbuilt) error {
	for _, field := range list {
		if field.set && about(field.path) {
			return subscriptions.Unbuilt(field.path)
		}
	}
	return nil
}

func unbuiltOfTopic(t api.Topic) []unbuilt {
	return []unbuilt{
		{"messageRetentionDuration", t.MessageRetentionDuration != nil},
		{"schemaSettings", t.SchemaSettings != nil},
		{"kmsKeyName", t.KmsKeyName != ""},
		{"messageStoragePolicy", t.MessageStoragePolicy != nil &&
			(len(t.MessageStoragePolicy.AllowedPersistenceRegions) > 0 || t.MessageStoragePolicy.EnforceInTransit)},
		{"ingestionDataSourceSettings", filled(t.IngestionDataSourceSettings)},
		{"messageTransforms", len(t.MessageTransforms) > 0},
	}
}

// unbuiltOfSubscription are the fields that creation and change have in common.
func unbuiltOfSubscription(s api.Subscription) []unbuilt {
	list := []unbuilt{
		{"retainAckedMessages", s.RetainAckedMessages},
		{"enableExactlyOnceDelivery", s.EnableExactlyOnceDelivery},
		{"bigqueryConfig", filled(s.BigqueryConfig)},
		{"bigtableConfig", filled(s.BigtableConfig)},
		{"cloudStorageConfig", filled(s.CloudStorageConfig)},
		{"messageTransforms", len(s.MessageTransforms) > 0},
	}
	return append(list, unbuiltOfPush(s.PushConfig)...)
}

// unbuiltAtCreation are the fields that only creation can set; that no change may name them is the domain's to say.
func unbuiltAtCreation(s api.Subscription) []unbuilt {
	return []unbuilt{
		{"enableMessageOrdering", s.EnableMessageOrdering},
		{"filter", s.Filter != ""},
	}
}

// unbuiltOfPush: to be there is what these ask for, even when empty. The pubsubWrapper asks for what is done anyway.
func unbuiltOfPush(p *api.PushConfig) []unbuilt {
	if p == nil {
		return nil
	}
	return []unbuilt{
		{"pushConfig.oidcToken", p.OidcToken != nil},
		{"pushConfig.noWrapper", p.NoWrapper != nil},
	}
}

// filled tells whether an object of any content has any.
func filled(o *wire.Object) bool {
	return o != nil && len(bytes.TrimSpace(bytes.Trim(*o, "{}"))) > 0
}
