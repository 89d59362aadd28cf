// Package feed is the feed of changes: what transactions do to tasks and cases, in order, for those who listen.
//
// Feed keeps the last changes in a ring and records nothing while nobody listens. A transaction passes it as InFlight,
// so that changes are told in an order in which they can have happened. Listener reads from it, about everything or
// about some tasks. Publisher and Batch carry changes to other processes. Begin with feed.go, then listen.go.
package feed
