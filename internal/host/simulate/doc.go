// Package simulate runs a task of a template without workers: on an engine of its own in memory, whose clock jumps to
// the next time at which something is due. A Script says what the steps do. So templates can be tried and tested with
// the semantics of the server, which they are.
package simulate
