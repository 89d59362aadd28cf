// Package crashtest holds Tasker to its guarantees while its processes are killed.
//
// The test of this package runs the real binary on a real file, drives work through it with all that callers do, and
// kills it with SIGKILL, some of the time at the worst moments it can find. What the callers asked, and what they were
// told, is written to a [Journal] by the [Recorder]. In the end [Read] takes down what the server says about every
// task, and [Check] compares the two. It knows nothing of the engine: it believes only what a caller was told, and asks
// whether the end agrees with it.
//
//	callers -> Recorder -> HTTP -> server process   (killed again and again)
//	               |                     |
//	            Journal                 Read
//	               +------> Check <------+
//
// The order of events is that of a counter that the Journal advances at the begin and at the end of every call. A call
// that ended before another began came first; of two that overlapped, nothing is claimed.
//
// SIGKILL ends a process between two instructions. It does not take away what the kernel has in its cache, so this says
// nothing about a loss of power.
//
// Read journal.go first, then check.go, which lists the guarantees; each check_*.go has some of them. gap.go is about
// databases that go back in time. Package load has the callers, package process the processes.
package crashtest
