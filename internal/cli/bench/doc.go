// Package bench measures what a Tasker does on the machine it runs on: how many single-step tasks per second are
// submitted, executed and settled, at what cost in CPU, and how long an idle system takes from the submit call to the
// start of the handler.
//
// Durable settings only: every acknowledged submission and result is on disk. A task counts as done when the
// acknowledgement of its result has come back, not when its handler has returned.
//
// The phases are methods of [Load] and run on any [System], so that another queue can be measured in the same way; a
// [Rig] is all that a measurement of Tasker needs. The module in the directory bench uses both, for other queues and
// for experiments.
//
// Read load.go and idle.go first, which have the phases, then run.go, which puts them together. ledger.go is why a
// number is only printed if no guarantee was broken; meter.go reads the CPU time.
//
// letters.go measures dead letters: capture, freeze, the pages of an operator, and a redrive.
package bench
