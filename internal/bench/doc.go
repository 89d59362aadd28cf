// Package bench measures what a Tasker does on the machine it runs on: how many
// single-step tasks per second go in, through and out, at what cost in CPU, how
// long an idle system takes from the submit call to the start of the handler, and
// what a long queue, a long history, an old snapshot or several nodes change, and
// what the search for stale tasks and many cases cost.
//
// Durable settings only: every acknowledged submission and result is on disk. A
// task counts as done when the acknowledgement of its result has come back, not
// when its handler has returned.
//
// The phases are methods of Load and run on any System, so that another queue can
// be measured in the same way: see the module in the directory bench.
package bench
