// Package crashtest checks Tasker's guarantees while its processes are killed.
//
// The test of this package runs the real binary on a real file under load from all kinds of callers, and kills it with
// SIGKILL, sometimes at the worst moments. The [Recorder] writes requests and answers to a [Journal]. At the end
// [Read] reads every task from the server, and [Check] compares the two, independently of the engine.
//
//	callers -> Recorder -> HTTP -> server process   (killed again and again)
//	               |                     |
//	            Journal                 Read
//	               +------> Check <------+
//
// A counter orders the events: the Journal advances it at the begin and at the end of every call. A call that ended
// before another began came first; two that overlapped have no order.
//
// SIGKILL keeps the kernel's cache, so this does not test a loss of power.
//
// Read journal.go first, then check.go, which lists the guarantees; each check_*.go has some of them. gap.go is about
// databases that go back in time. Package load has the callers, package process the processes.
package crashtest
