// Package memory is an engine.Dispatcher in memory: the reference model of the others, and the dispatcher of engine
// tests.
//
// A Server models the server of a real dispatcher, and each of its Dispatchers models a process. A test makes the
// server lose its content, restart, or become unreachable.
package memory
