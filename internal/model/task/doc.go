// Package task is the domain of Tasker: tasks, steps, templates and their graph, states and transition tables,
// retry and back-off, priority and the sort key.
//
// It is pure: no I/O, no goroutine, no clock; time is an argument. It imports the standard library and [failure]
// only.
//
// A task is a set of steps. Each step moves through the states of [StepState], and the counts of steps in each
// class of state determine the task's state:
//
//	pending -> enqueued -> assigned -> in_progress -> complete
//	                ^
//	 v
//	                +---- waiting_for_retry, error
package task
