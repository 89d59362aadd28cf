// Package inbox holds the use cases of dead letters: capture, groups, operations on many, sources. It decides with the
// pure packages deadletter and failure, and stores through the roles in roles.go, in transactions of the engine's
// store, so that a letter, its group and its occurrence are stored together or not at all.
//
// An [Inbox] is safe for concurrent use. Its verbs block until their outcome is durable. Refusals are *task.Error.
// Begin with inbox.go, then capture.go.
package inbox
