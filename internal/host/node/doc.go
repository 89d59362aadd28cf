// Package node assembles an engine from its parts. It opens the store and the dispatcher that a
// DSN and the options name, gives the engine its clock, wraps it in a Backend (package local),
// and runs its background loops (package upkeep).
//
// No other package assembles an engine outside of tests, so that a server and an embedded
// engine behave the same. The server (package app) adds a listener to a Node; package embedded
// adds nothing.
//
// The schemes of a DSN are "memory:", "sqlite:PATH" (or a plain path) and "postgres://...". A
// dispatcher is named by the URL of a Redis.
//
// Read node.go first: Open, Run and Close are the life of a Node. store.go selects the store,
// schema.go opens one for migrations.
package node
