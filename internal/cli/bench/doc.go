// Package bench measures a Tasker on this machine: single-step tasks per second submitted, executed and settled,
// their CPU cost, and the time from the submit call to the handler on an idle system.
//
// Settings are durable: every acknowledged submission and result is on disk. A task is done when its result is
// acknowledged, not when its handler returns.
//
// The phases are methods of [Load] and run on any [System]; a [Rig] is a complete measurement of Tasker. The module
// in the directory bench uses both for other queues and experiments.
//
// Read load.go and idle.go first, which have the phases, then run.go. ledger.go checks the guarantees before a
// number is printed; meter.go reads the CPU time; letters.go measures dead letters.
package bench
