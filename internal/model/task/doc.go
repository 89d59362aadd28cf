// Package task is the domain of Tasker: tasks, steps, templates and their
// graph, states and transition tables, retry and back-off, priority and the
// sort key.
//
// It is pure. It does no input or output, starts no goroutine and never reads
// the clock: time is an argument of every function that needs it. It imports
// the standard library and [failure] only.
//
// A task is a set of steps. Each step moves through the states of [StepState]
// and the task's own state is a function of how many of its steps are in which
// class of state:
//
//	pending -> enqueued -> assigned -> in_progress -> complete
//	                ^                      |
//	                |                      v
//	                +---- waiting_for_retry, error
package task
