// Package app turns a configuration into a running server process.
//
// Run listens, opens a node (package node), puts the HTTP API and the dashboard in front of it, starts metrics and
// traces, and serves until its ctx ends. Schema opens the configured database for migrations only.
//
// The package has no rules about tasks. It wires the parts and orders their start and stop. Begin with run.go.
package app
