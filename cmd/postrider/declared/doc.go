// Package declared is the form of topics and subscriptions in files: what "postrider apply" reads and "postrider export"
// writes.
//
// A file is YAML, or JSON, which is YAML too, with any number of documents:
//
//	topics:
//	  - name: orders
//	    messageRetentionDuration: 86400s
//	subscriptions:
//	  - name: billing
//	    topic: orders
//	    postrider:
//	      pushLimits: {maxPerSecond: 10}
//
// The fields of a resource are those of openapi.yaml, by the generated types of package api: nothing here lists them. A name
// without a slash is an id in the project that the reader is told.
package declared
