// Package deadletter is the domain of dead letters: messages that their consumers could not process. It is pure: time
// and chance are arguments.
//
// A [Letter] is one message; an [Occurrence] is one of its deaths. A [Group] collects letters and task cases with one
// fingerprint. A [Policy] sends letters back without an operator. A [Redrive] acts on a frozen [Selection] in waves,
// and stops when too many items come back.
//
// Begin with letter.go, group.go and redrive.go, each with a table of transitions; wave.go decides about waves.
package deadletter
