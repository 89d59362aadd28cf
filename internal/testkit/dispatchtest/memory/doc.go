// Package memory is an engine.Dispatcher in the memory of the process: the
// reference model of all others, and what tests of the engine use.
//
// A Server stands for the server that a real dispatcher keeps its content on, and
// each Dispatcher that it opens stands for a process. A test makes the server
// lose what it knows, restart, or go out of reach.
package memory
