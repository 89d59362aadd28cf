// Package feed delivers the effects of transactions on tasks and cases, in order, to listeners.
//
// Feed keeps the last changes in a ring, and records nothing without listeners. A transaction passes it as InFlight,
// which decides the order. Listener reads all changes or those of some tasks. Publisher and Batch carry changes to
// other processes. Begin with feed.go, then listen.go.
package feed
