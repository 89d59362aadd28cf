// Package node assembles an engine: it opens the store and the dispatcher that a DSN and the options name,
// gives the engine its clock, and runs its background loops. No other package does. The server (package app)
// adds a listener to a Node; the embedded engine adds nothing. Read node.go first.
package node
