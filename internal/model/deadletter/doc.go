// Package deadletter is the domain of dead letters: messages that their consumers could not process. It is pure: no
// I/O, no clock, no randomness; time and chance are arguments.
//
// A [Letter] is one message, for as long as it is known; an [Occurrence] is one time that it died. A [Group] is
// everything with one fingerprint: letters, and cases of tasks. A [Policy] says which letters are sent back without an
// operator, and when. A [Redrive] acts on a frozen [Selection] of letters and cases in waves, and stops when too many
// of them come back.
//
// Each of letter, group and redrive has one table of transitions. Begin with letter.go, group.go and redrive.go; the
// decisions about waves are in wave.go.
package deadletter
