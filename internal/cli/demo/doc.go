// Package demo runs Tasker on real input: 10,000 bird-strike reports of the FAA, in the public domain and as
// dirty as they were filed, pass through a workflow of six steps with a diamond in it.
//
// A report fails only because it is dirty: the rules are in parse.go, flight.go, names.go and price.go, one
// pure function each. Nothing fails by chance or on request, so each run ends with the same failures.
//
// [Run] runs the whole demo against any Backend, and counts accepted, settled, lost and doubly settled work
// itself. [Work] only runs steps; it keeps repaired reports moving while the demo stays up.
//
// Read run.go first: it submits (submit.go), works (handlers.go), waits (wait.go, states.go) and sums up (summary.go,
// failures.go, text.go). observer.go counts what the worker was told; repair.go proposes what an operator could type.
package demo
