// Package node assembles an engine: it opens the store and the dispatcher of a DSN and options, gives the engine
// its clock, wraps it in a Backend (package local), and runs its background loops (package upkeep).
//
// Only this package assembles engines outside of tests, so a server and an embedded engine behave the same. The
// server (package app) adds a listener to a Node; package embedded adds nothing.
//
// DSNs are "memory:", "sqlite:PATH" (or a plain path) and "postgres://..."; a dispatcher is the URL of a Redis.
//
// Read node.go first: Open, Run and Close are the life of a Node. store.go selects the store, schema.go opens one
// for migrations.
package node
