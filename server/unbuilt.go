package server

import (
	"bytes"

	"postrider/server/api"
	"postrider/server/rules"
	"postrider/server/wire"
)

func unbuiltOfTopic(t api.Topic) rules.UnbuiltOfTopic {
	return rules.UnbuiltOfTopic{
		SchemaSettings: t.SchemaSettings != nil,
		KmsKeyName:     t.KmsKeyName != "",
		MessageStoragePolicy: t.MessageStoragePolicy != nil &&
			(len(t.MessageStoragePolicy.AllowedPersistenceRegions) > 0 || t.MessageStoragePolicy.EnforceInTransit),
		IngestionDataSourceSettings: filled(t.IngestionDataSourceSettings),
		MessageTransforms:           len(t.MessageTransforms) > 0,
	}
}

func unbuiltOfSubscription(s api.Subscription) rules.UnbuiltOfSubscription {
	return rules.UnbuiltOfSubscription{
		BigqueryConfig:     filled(s.BigqueryConfig),
		BigtableConfig:     filled(s.BigtableConfig),
		CloudStorageConfig: filled(s.CloudStorageConfig),
		MessageTransforms:  len(s.MessageTransforms) > 0,
	}
}

// filled tells whether an object of any content has any.
func filled(o *wire.Object) bool {
	return o != nil && len(bytes.TrimSpace(bytes.Trim(*o, "{}"))) > 0
}
