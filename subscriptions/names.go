package subscriptions

import (
	"crypto/rand"
	"encoding/base32"
	"strings"
)

// Names of resources are "projects/PROJECT/topics/ID" and the like. Any project
// exists without being created.

// TopicName names a topic.
type TopicName struct{ Project, ID string }

// SubscriptionName names a subscription.
type SubscriptionName struct{ Project, ID string }

// SnapshotName names a snapshot.
type SnapshotName struct{ Project, ID string }

// DeletedTopic is what a subscription's topic reads once the topic is deleted.
const DeletedTopic = "_deleted-topic_"

// isResourceID tells whether s is ^[A-Za-z][A-Za-z0-9._~+%-]{2,254}$. Each request
// asks, and a regular expression takes ten times as long.
func isResourceID(s string) bool {
	return len(s) >= 3 && len(s) <= 255 && isLetter(s[0]) && isMadeOf(s, "._~+%-")
}

// isProjectID tells whether s is ^[A-Za-z0-9]([A-Za-z0-9._:-]{0,126}[A-Za-z0-9])?$,
// which takes Google's project ids, project numbers and the old domain-scoped form
// "example.com:project". It is laxer than Google's rule, since a project is only
// a name here.
func isProjectID(s string) bool {
	return len(s) >= 1 && len(s) <= 128 && isMadeOf(s[:1], "") && isMadeOf(s, "._:-") && isMadeOf(s[len(s)-1:], "")
}

// isMadeOf tells whether s holds only letters, digits and what else is allowed.
func isMadeOf(s, others string) bool {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && (c < '0' || c > '9') && strings.IndexByte(others, c) < 0 {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

const idRule = `must be 3 to 255 characters, start with a letter, hold only letters, digits and -._~+%, and not start with "goog"`

func (n TopicName) String() string { return "projects/" + n.Project + "/topics/" + n.ID }

func (n SubscriptionName) String() string {
	return "projects/" + n.Project + "/subscriptions/" + n.ID
}

func (n SnapshotName) String() string { return "projects/" + n.Project + "/snapshots/" + n.ID }

// ParseTopicName reads "projects/P/topics/T". It fails with INVALID_ARGUMENT
// naming the field.
func ParseTopicName(field, s string) (TopicName, error) {
	project, id, err := parseName(field, s, "topics")
	return TopicName{project, id}, err
}

// ParseSubscriptionName reads "projects/P/subscriptions/S". It fails with
// INVALID_ARGUMENT naming the field.
func ParseSubscriptionName(field, s string) (SubscriptionName, error) {
	project, id, err := parseName(field, s, "subscriptions")
	return SubscriptionName{project, id}, err
}

// ParseSnapshotName reads "projects/P/snapshots/S". It fails with
// INVALID_ARGUMENT naming the field.
func ParseSnapshotName(field, s string) (SnapshotName, error) {
	project, id, err := parseName(field, s, "snapshots")
	return SnapshotName{project, id}, err
}

// NewSnapshotName makes a name, for a snapshot that was given none.
func NewSnapshotName(project string) SnapshotName {
	return SnapshotName{Project: project, ID: "snap-" + newUID()}
}

// NewSubscriptionName makes a name, for a subscription that was given none.
func NewSubscriptionName(project string) SubscriptionName {
	return SubscriptionName{Project: project, ID: "sub-" + newUID()}
}

// Validate fails with INVALID_ARGUMENT unless both parts are legal.
func (n TopicName) Validate() error { return validateParts(n.Project, "topic", n.ID) }

// Validate fails with INVALID_ARGUMENT unless both parts are legal.
func (n SubscriptionName) Validate() error {
	return validateParts(n.Project, "subscription", n.ID)
}

// Validate fails with INVALID_ARGUMENT unless both parts are legal.
func (n SnapshotName) Validate() error { return validateParts(n.Project, "snapshot", n.ID) }

// ValidateProject fails with INVALID_ARGUMENT unless s can be a project's id.
func ValidateProject(s string) error {
	if !isProjectID(s) {
		return Errorf(InvalidArgument, "project: %q is not a project id: it must be 1 to 128 letters, digits and any of .:-_, starting and ending with a letter or digit", clip(s, 64))
	}
	return nil
}

func validateParts(project, what, id string) error {
	if err := ValidateProject(project); err != nil {
		return err
	}
	if !isResourceID(id) || strings.HasPrefix(id, "goog") {
		return Errorf(InvalidArgument, "%s: the id %q %s", what, clip(id, 64), idRule)
	}
	return nil
}

func parseName(field, s, collection string) (project, id string, err error) {
	parts := strings.Split(s, "/")
	if len(parts) != 4 || parts[0] != "projects" || parts[2] != collection {
		return "", "", Errorf(InvalidArgument, "%s: %q is not of the form projects/PROJECT/%s/ID", field, clip(s, 128), collection)
	}
	if err := validateParts(parts[1], field, parts[3]); err != nil {
		return "", "", err
	}
	return parts[1], parts[3], nil
}

// uidEncoding writes the ten bytes of a unique id as sixteen characters that
// are safe in any key name.
var uidEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// uidBytes is the length of a unique id before encoding: 80 random bits.
const uidBytes = 10

// newUID makes the unique id of a topic or subscription. A deleted and created
// again resource gets another one, so that nothing of the old can reach it.
func newUID() string {
	var b [uidBytes]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return uidEncoding.EncodeToString(b[:])
}
