package conformance

import (
	"strings"
	"testing"
)

// jsonCase is a body and whether we accept it. The fuzzers start from these too.
type jsonCase struct {
	name string // of the pair
	body string
	ok   bool
}

var jsonCases = []jsonCase{
	// Names.
	{"Topic", `{}`, true},
	{"Topic", ` { "name" : "a" } `, true},
	{"Topic", `{"messageRetentionDuration":"600s"}`, true},
	{"Topic", `{"message_retention_duration":"600s"}`, true},
	{"Topic", `{"message\u0052etentionDuration":"600s"}`, true},
	{"Topic", `{"MessageRetentionDuration":"600s"}`, false},
	{"Topic", `{"messageretentionduration":"600s"}`, false},
	{"Topic", `{"message_RetentionDuration":"600s"}`, false},
	{"Topic", `{"unknown":1}`, false},
	{"Topic", `{"unknown":null}`, false},
	{"Topic", `{"":1}`, false},
	{"Topic", `{"@type":"x"}`, false},
	{"Topic", `{"[google.pubsub.v1.x]":1}`, false},
	{"Topic", `{"name":"a","name":"b"}`, false},
	{"Topic", `{"name":"a","name":null}`, false},
	{"Topic", `{"name":null,"name":"a"}`, false},
	{"Topic", `{"kmsKeyName":"a","kms_key_name":"a"}`, false},
	{"Topic", `{"kmsKeyName":null,"kms_key_name":null}`, false},
	{"Topic", `{"labels":{"some_key":"v","someKey":"v","SomeKey":"v"}}`, true},
	{"Topic", `{"labels":{"k":"1","k":"2"}}`, false},
	{"Topic", `{"labels":{"k":"1","\u006b":"2"}}`, false},
	{"Topic", `{"labels":{"":""}}`, true},

	// Null.
	{"Topic", `null`, false},
	{"Topic", `{"name":null,"labels":null,"state":null,"messageStoragePolicy":null,"messageTransforms":null}`, true},
	{"Topic", `{"labels":{"k":null}}`, false},
	{"Topic", `{"messageStoragePolicy":{"allowedPersistenceRegions":[null]}}`, false},
	{"Topic", `{"messageTransforms":[null]}`, false},
	{"PublishRequest", `{"messages":[null]}`, false},
	{"PublishRequest", `{"messages":null}`, true},

	// Shape.
	{"Topic", ``, false},
	{"Topic", ` `, false},
	{"Topic", `[]`, false},
	{"Topic", `"x"`, false},
	{"Topic", `{`, false},
	{"Topic", `{"name"}`, false},
	{"Topic", `{"name":"a",}`, false},
	{"Topic", `{,"name":"a"}`, false},
	{"Topic", `{"name":"a"]`, false},
	{"Topic", `{} {}`, false},
	{"Topic", `{}x`, false},
	{"Topic", `{},`, false},
	{"Topic", "\ufeff{}", false},
	{"Topic", `{'name':'a'}`, false},
	{"Topic", `{name:"a"}`, false},
	{"Topic", `{/**/}`, false},
	{"Topic", `{"name":["a"]}`, false},
	{"Topic", `{"name":{}}`, false},
	{"Topic", `{"name":1}`, false},
	{"Topic", `{"labels":[]}`, false},
	{"Topic", `{"messageTransforms":{}}`, false},
	{"Topic", `{"schemaSettings":[]}`, false},
	{"Topic", `{"schemaSettings":{"schema":"s","encoding":"BINARY"}}`, true},
	{"PublishRequest", `{"messages":{}}`, false},
	{"AcknowledgeRequest", `{"ackIds":"a"}`, false},
	{"AcknowledgeRequest", `{"ackIds":["a",1]}`, false},
	{"AcknowledgeRequest", `{"ackIds":[["a"]]}`, false},
	{"AcknowledgeRequest", `{"ackIds":[]}`, true},
	{"AcknowledgeRequest", `{"ackIds":[,]}`, false},
	{"AcknowledgeRequest", `{"ackIds":["a",]}`, false},

	// Text.
	{"Topic", `{"name":"a\/b\"\\\b\f\n\r\t\u0000é\u00e9😀\ud83d\ude00"}`, true},
	{"Topic", `{"name":"\ud83d"}`, false},
	{"Topic", `{"name":"\ude00\ud83d"}`, false},
	{"Topic", `{"name":"\x"}`, false},
	{"Topic", `{"name":"\u00e"}`, false},
	{"Topic", "{\"name\":\"\xff\"}", false},
	{"Topic", "{\"name\":\"\xed\xa0\x80\"}", false},
	{"Topic", "{\"labels\":{\"\xff\":\"\"}}", false},
	{"Topic", "{\"name\":\"a\nb\"}", false},
	{"Topic", "{\"name\":\"a\x7fb\"}", true},

	// Booleans.
	{"PullRequest", `{"returnImmediately":true}`, true},
	{"PullRequest", `{"returnImmediately":false}`, true},
	{"PullRequest", `{"returnImmediately":"true"}`, false},
	{"PullRequest", `{"returnImmediately":1}`, false},
	{"PullRequest", `{"returnImmediately":True}`, false},
	{"PullRequest", `{"returnImmediately":truex}`, false},

	// Integers.
	{"PullRequest", `{"maxMessages":10}`, true},
	{"PullRequest", `{"maxMessages":"10"}`, true},
	{"PullRequest", `{"maxMessages":1e1}`, true},
	{"PullRequest", `{"maxMessages":"1e1"}`, true},
	{"PullRequest", `{"maxMessages":1.0}`, true},
	{"PullRequest", `{"maxMessages":1.20E1}`, true},
	{"PullRequest", `{"maxMessages":1.20E2}`, true},
	{"PullRequest", `{"maxMessages":0.05e+2}`, true},
	{"PullRequest", `{"maxMessages":1000e-2}`, true},
	{"PullRequest", `{"maxMessages":1001e-2}`, false},
	{"PullRequest", `{"maxMessages":1e-1}`, false},
	{"PullRequest", `{"maxMessages":0e-99}`, true},
	{"PullRequest", `{"maxMessages":0e99999999999}`, true},
	{"PullRequest", `{"maxMessages":1e99999999999}`, false},
	{"PullRequest", `{"maxMessages":1e-99999999999}`, false},
	{"PullRequest", `{"maxMessages":10000000000000000000000e-22}`, true},
	{"PullRequest", `{"maxMessages":-0}`, true},
	{"PullRequest", `{"maxMessages":-1}`, true},
	{"PullRequest", `{"maxMessages":1.5}`, false},
	{"PullRequest", `{"maxMessages":2147483647}`, true},
	{"PullRequest", `{"maxMessages":2147483648}`, false},
	{"PullRequest", `{"maxMessages":-2147483648}`, true},
	{"PullRequest", `{"maxMessages":-2147483649}`, false},
	{"PullRequest", `{"maxMessages":"2147483648"}`, false},
	{"PullRequest", `{"maxMessages":01}`, false},
	{"PullRequest", `{"maxMessages":+1}`, false},
	{"PullRequest", `{"maxMessages":.5}`, false},
	{"PullRequest", `{"maxMessages":1.}`, false},
	{"PullRequest", `{"maxMessages":0x1}`, false},
	{"PullRequest", `{"maxMessages":1e}`, false}, // protojson accepts it
	{"PullRequest", `{"maxMessages":NaN}`, false},
	{"PullRequest", `{"maxMessages":""}`, false},
	{"PullRequest", `{"maxMessages":" 1"}`, false},
	{"PullRequest", `{"maxMessages":"1 "}`, false},
	{"PullRequest", `{"maxMessages":"1 2"}`, false},
	{"PullRequest", `{"maxMessages":"\u0031"}`, true},
	{"PullRequest", `{"maxMessages":"01"}`, false},
	{"PullRequest", `{"maxMessages":"null"}`, false},
	{"PullRequest", `{"maxMessages":"true"}`, false},
	{"PullRequest", `{"maxMessages":true}`, false},
	{"PullRequest", `{"maxMessages":[1]}`, false},

	// Enums.
	{"Topic", `{"state":"ACTIVE"}`, true},
	{"Topic", `{"state":"STATE_UNSPECIFIED"}`, true},
	{"Topic", `{"state":1}`, true},
	{"Topic", `{"state":2.0}`, true},
	{"Topic", `{"state":0}`, true},
	{"Topic", `{"state":3}`, false},  // protojson accepts it
	{"Topic", `{"state":-1}`, false}, // protojson accepts it
	{"Topic", `{"state":1.5}`, false},
	{"Topic", `{"state":"1"}`, false},
	{"Topic", `{"state":"active"}`, false},
	{"Topic", `{"state":""}`, false},
	{"Topic", `{"state":"RESOURCE_ERROR"}`, false},
	{"Subscription", `{"state":"RESOURCE_ERROR"}`, true},

	// Bytes.
	{"PublishRequest", `{"messages":[{"data":"aGk/Pz4+"}]}`, true},
	{"PublishRequest", `{"messages":[{"data":"aGk_Pz4-"}]}`, true},
	{"PublishRequest", `{"messages":[{"data":"aGk_Pz4+"}]}`, false},
	{"PublishRequest", `{"messages":[{"data":"aA=="}]}`, true},
	{"PublishRequest", `{"messages":[{"data":"aA"}]}`, true},
	{"PublishRequest", `{"messages":[{"data":"aA="}]}`, false},
	{"PublishRequest", `{"messages":[{"data":"aB"}]}`, true}, // the last bits mean nothing
	{"PublishRequest", `{"messages":[{"data":"_w"}]}`, true},
	{"PublishRequest", `{"messages":[{"data":"a"}]}`, false},
	{"PublishRequest", `{"messages":[{"data":"a A="}]}`, false},
	{"PublishRequest", `{"messages":[{"data":"aGVs\n\r\n\nbG8="}]}`, true},
	{"PublishRequest", `{"messages":[{"data":"\u0061A=="}]}`, true},
	{"PublishRequest", `{"messages":[{"data":""}]}`, true},
	{"PublishRequest", `{"messages":[{"data":[104]}]}`, false},
	{"PublishRequest", `{"messages":[{"data":"aA","attributes":{"a_b":"c"},"ordering_key":"k","messageId":"1"}]}`, true},
	{"PublishRequest", `{"topic":"projects/p/topics/t"}`, false}, // protobuf has it

	// Durations.
	{"Topic", `{"messageRetentionDuration":"1.5s"}`, true},
	{"Topic", `{"messageRetentionDuration":"1.s"}`, true},
	{"Topic", `{"messageRetentionDuration":".5s"}`, true},
	{"Topic", `{"messageRetentionDuration":".s"}`, true},
	{"Topic", `{"messageRetentionDuration":"+1s"}`, true},
	{"Topic", `{"messageRetentionDuration":"-1.000000001s"}`, true},
	{"Topic", `{"messageRetentionDuration":"-0.5s"}`, true},
	{"Topic", `{"messageRetentionDuration":"0.000001s"}`, true},
	{"Topic", `{"messageRetentionDuration":"1.0000000000s"}`, false},
	{"Topic", `{"messageRetentionDuration":"315576000000s"}`, true},
	{"Topic", `{"messageRetentionDuration":"-315576000000.999999999s"}`, true},
	{"Topic", `{"messageRetentionDuration":"315576000001s"}`, false},
	{"Topic", `{"messageRetentionDuration":"99999999999999999999s"}`, false},
	{"Topic", `{"messageRetentionDuration":"01s"}`, false},
	{"Topic", `{"messageRetentionDuration":"00s"}`, false},
	{"Topic", `{"messageRetentionDuration":"s"}`, false},
	{"Topic", `{"messageRetentionDuration":"-s"}`, false},
	{"Topic", `{"messageRetentionDuration":""}`, false},
	{"Topic", `{"messageRetentionDuration":"1"}`, false},
	{"Topic", `{"messageRetentionDuration":"10m"}`, false},
	{"Topic", `{"messageRetentionDuration":"1e1s"}`, false},
	{"Topic", `{"messageRetentionDuration":"1 s"}`, false},
	{"Topic", `{"messageRetentionDuration":"1,5s"}`, false},
	{"Topic", `{"messageRetentionDuration":600}`, false},
	{"Topic", `{"messageRetentionDuration":{"seconds":1}}`, false},
	{"Subscription", `{"expirationPolicy":{}}`, true},
	{"Subscription", `{"expirationPolicy":{"ttl":"0s"}}`, true},
	{"Subscription", `{"retryPolicy":{"minimum_backoff":"0.000000001s","maximumBackoff":"600s"}}`, true},

	// Timestamps.
	{"PublishRequest", `{"messages":[{"publishTime":"2025-01-31T12:00:00Z"}]}`, true},
	{"PublishRequest", `{"messages":[{"publishTime":"2025-01-31T12:00:00.000000001Z"}]}`, true},
	{"PublishRequest", `{"messages":[{"publishTime":"2025-01-31T12:00:00.0000000001Z"}]}`, false},
	{"PublishRequest", `{"messages":[{"publishTime":"2025-01-31T12:00:00.1+02:30"}]}`, true},
	{"PublishRequest", `{"messages":[{"publishTime":"2025-01-31T12:00:00.000000000-11:59"}]}`, true},
	{"PublishRequest", `{"messages":[{"publishTime":"2025-01-31t12:00:00z"}]}`, false},
	{"PublishRequest", `{"messages":[{"publishTime":"2025-01-31 12:00:00Z"}]}`, false},
	{"PublishRequest", `{"messages":[{"publishTime":"2025-01-31T12:00:00"}]}`, false},
	{"PublishRequest", `{"messages":[{"publishTime":"2025-02-29T12:00:00Z"}]}`, false},
	{"PublishRequest", `{"messages":[{"publishTime":"2024-02-29T23:59:60Z"}]}`, false},
	{"PublishRequest", `{"messages":[{"publishTime":"0000-12-31T23:59:59Z"}]}`, false},
	{"PublishRequest", `{"messages":[{"publishTime":"0001-01-01T00:00:00Z"}]}`, true},
	{"PublishRequest", `{"messages":[{"publishTime":"0001-01-01T00:00:00+00:01"}]}`, false},
	{"PublishRequest", `{"messages":[{"publishTime":"9999-12-31T23:59:59.999999999Z"}]}`, true},
	{"PublishRequest", `{"messages":[{"publishTime":"9999-12-31T23:59:59-00:01"}]}`, false},
	{"PublishRequest", `{"messages":[{"publishTime":1738324800}]}`, false},

	// Groups of which one may be set.
	{"Subscription", `{"pushConfig":{"pubsubWrapper":{}}}`, true},
	{"Subscription", `{"pushConfig":{"noWrapper":{"writeMetadata":true}}}`, true},
	{"Subscription", `{"pushConfig":{"noWrapper":{},"pubsubWrapper":{}}}`, false},
	{"Subscription", `{"pushConfig":{"noWrapper":null,"pubsubWrapper":{}}}`, true},
	{"Subscription", `{"pushConfig":{"pubsubWrapper":{"x":1}}}`, false},
	{"Subscription", `{"pushConfig":{}}`, true},

	// Masks.
	{"UpdateTopicRequest", `{"topic":{"name":"a"},"updateMask":"labels,messageRetentionDuration"}`, true},
	{"UpdateTopicRequest", `{"topic":{},"update_mask":"schemaSettings.firstRevisionId"}`, true},
	{"UpdateTopicRequest", `{"updateMask":"message_retention_duration"}`, true}, // protojson refuses it
	{"UpdateTopicRequest", `{"updateMask":" labels "}`, true},
	{"UpdateTopicRequest", `{"updateMask":"labels, tags"}`, false},
	{"UpdateTopicRequest", `{"updateMask":"labels,"}`, false},
	{"UpdateTopicRequest", `{"updateMask":"labels..x"}`, false},
	{"UpdateTopicRequest", `{"updateMask":"1x"}`, false},
	{"UpdateTopicRequest", `{"updateMask":"x1,Xy"}`, true},
	{"UpdateTopicRequest", `{"updateMask":""}`, true},
	{"UpdateTopicRequest", `{"updateMask":["labels"]}`, false},
	{"UpdateTopicRequest", `{"updateMask":{"paths":["labels"]}}`, false},
	{"UpdateSubscriptionRequest", `{"subscription":{"ackDeadlineSeconds":"60"},"updateMask":"ackDeadlineSeconds"}`, true},

	// Any object.
	{"Subscription", `{"bigqueryConfig":{"table":"p:d.t","writeMetadata":true}}`, true},
	{"Subscription", `{"bigqueryConfig":{"anything":[1,{"deep":null}]}}`, true}, // protojson refuses it
	{"Subscription", `{"bigqueryConfig":[]}`, false},
	{"Subscription", `{"cloudStorageConfig":{"bucket":"b","maxBytes":"1000","avroConfig":{}}}`, true},
	{"Topic", `{"messageTransforms":[{"javascriptUdf":{"functionName":"f","code":"x"}},{}]}`, true},
	{"Topic", `{"ingestionDataSourceSettings":{}}`, true},
}

func TestJSON(t *testing.T) {
	for _, c := range jsonCases {
		if got := pairNamed(t, c.name).compare(t, []byte(c.body)); got != c.ok {
			t.Errorf("%s %s: accepted: %v, want %v", c.name, c.body, got, c.ok)
		}
	}
}

// TestDepth checks that neither reader follows a body down without end.
func TestDepth(t *testing.T) {
	const deep = 20_000
	for _, body := range []string{
		strings.Repeat("[", deep),
		`{"bigqueryConfig":` + strings.Repeat(`{"a":`, deep) + "1" + strings.Repeat("}", deep) + "}",
		`{"bigqueryConfig":{"a":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "}}",
		`{"messageTransforms":` + strings.Repeat("[", deep) + strings.Repeat("]", deep) + "}",
	} {
		if pairNamed(t, "Subscription").compare(t, []byte(body)) {
			t.Errorf("accepted: %.40s…", body)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, c := range jsonCases {
		for i, p := range pairs {
			if p.name == c.name {
				f.Add(uint8(i), []byte(c.body))
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, body []byte) {
		pairs[int(which)%len(pairs)].compare(t, body)
	})
}
