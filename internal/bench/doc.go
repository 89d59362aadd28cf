// Package bench measures what a Tasker does on the machine it runs on: how many
// single-step tasks per second go in, through and out, at what cost in CPU, and
// how long an idle system takes from the submit call to the start of the handler.
//
// Durable settings only: every acknowledged submission and result is on disk. A
// task counts as done when the acknowledgement of its result has come back, not
// when its handler has returned.
package bench
