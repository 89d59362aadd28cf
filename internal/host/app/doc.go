// Package app turns a configuration into a running server process.
//
// Run is its main function: it listens, opens a node (package node), puts the HTTP API and the
// dashboard in front of it, starts the configured metrics and traces, and serves until its ctx
// ends. Then it stops in an order that charges no attempt, which its comment explains.
//
// Schema opens the configured database for migrations only, without a server.
//
// The package has no rules about tasks. It decides the order of starting and stopping, and
// hands each part the others that it needs. Begin with run.go.
package app
