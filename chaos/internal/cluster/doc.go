// Package cluster runs what is to be hurt: one PostgreSQL, server processes that
// reach it each over a Link of its own, and a Balancer before them.
//
//	callers -> Balancer -> node 0 -> Link 0 --+
//	                   \-> node 1 -> Link 1 --+--> PostgreSQL
//	                   \-> node 2 -> Link 2 --+
package cluster
