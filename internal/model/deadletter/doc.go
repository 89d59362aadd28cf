// Package deadletter is the domain of dead letters: messages that their consumers could not process. It is pure:
// time and chance are arguments.
//
// A [Letter] is one message; an [Occurrence] is one of its deaths. A [Group] collects letters and task cases with
// one fingerprint. A [Policy] sends letters back without an operator. A [Redrive] acts on a frozen [Selection] of
// letters and cases in waves, and stops when too many of them come back.
//
// Letter, group and redrive each have a table of transitions. Begin with letter.go, group.go and redrive.go;
// wave.go decides about waves.
package deadletter
