// Package demo runs Tasker on real input: 10,000 bird-strike reports of the FAA, in the public domain and as dirty
// as filed, pass through a workflow of six steps with a diamond.
//
// Reports fail only for dirt, by the pure rules in parse.go, flight.go, names.go and price.go, so each run has the
// same failures.
//
// [Run] runs the whole demo against any Backend, and counts accepted, settled, lost and doubly settled work. [Work]
// only runs steps; it keeps repaired reports moving while the demo stays up.
//
// Read run.go first: it submits (submit.go), works (handlers.go), waits (wait.go, states.go) and summarises
// (summary.go, failures.go, text.go). observer.go counts the worker's view; repair.go proposes commands for an
// operator.
package demo
