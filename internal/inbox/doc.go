// Package inbox holds the use cases of dead letters: capture, groups, operations on many, sources, policies. It decides
// with the pure packages deadletter and failure, and stores through the roles in roles.go, in transactions of the
// engine's store, so that a letter, its group and its occurrence are stored together or not at all.
//
// An [Inbox] is safe for concurrent use. Its verbs block until their outcome is durable. A verb with a [By] changes
// something and appears in the audit trail. Refusals are *task.Error with one of the codes of package task: Invalid
// with a JSON pointer for each fault, NotFound for an object that does not exist or that the key does not reach,
// Conflict for another version than the caller names; the comments of verbs list others. Other errors come from the
// database.
//
// How to read it: inbox.go has the type and the common parts of all verbs. requests.go and roles.go are its two
// borders, to callers and to a store. capture.go and report.go take messages in, recognise.go and journal.go find out
// whether they are new. A redrive begins in preview.go and redrives.go; runner.go advances it, batch.go marks its
// letters, change.go discards or restores them, cases.go acts on cases. outbox.go sends all that is marked, record.go
// stores the outcomes, and due.go sends letters that policies have scheduled, and again those without a known outcome.
// triage.go is another loop, reading.go reads the brokers. rules.go saves rules, ruler.go applies them, ruletest.go
// tries them.
package inbox
