// Package inbox holds the use cases of dead letters: capture, groups, operations on many, sources, policies. It decides
// with the pure packages deadletter and failure, and stores through the roles in roles.go, in transactions of the
// engine's store, so that a letter, its group and its occurrence are stored together or not at all.
//
// An [Inbox] is safe for concurrent use. Its verbs block until their outcome is durable. A verb that takes a [By]
// changes something and is in the audit trail. Refusals are *task.Error with one of the codes of package task: Invalid
// with a JSON pointer for each fault, NotFound for an object that does not exist or that the key does not reach,
// Conflict for an object of another version than the caller names; the comment of a verb has the others. Other errors
// are of the database.
//
// How to read it: inbox.go has the type and what all verbs share. requests.go and roles.go are its two borders: what
// callers ask, and what it needs of a store. capture.go and report.go take messages in, recognise.go and journal.go
// find out what they are. letters.go, groups.go, sources.go and policies.go are one object each. A redrive begins in
// preview.go and redrives.go; runner.go carries it on, batch.go marks its letters, change.go discards or restores them,
// cases.go acts on cases. outbox.go sends all that is marked, record.go stores the outcomes, and due.go sends what
// policies have scheduled, and once more what has no known outcome. triage.go is another loop, reading.go reads the
// brokers. Package carrier joins them, package public is the API. Rules decide about groups: rules.go saves them,
// ruler.go applies them, ruletest.go tries them. Package rule has their language.
package inbox
