// Package cluster runs what faults strike: one PostgreSQL, server processes with a Link each to it, and a Balancer
// before them.
//
//	callers -> Balancer -> node 0 -> Link 0 --+
//	                   \-> node 1 -> Link 1 --+--> PostgreSQL
//	                   \-> node 2 -> Link 2 --+
package cluster
