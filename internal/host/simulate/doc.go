// Package simulate runs a task of a template without workers, on its own engine in memory whose clock jumps to the
// next due time. A Script defines the results of steps. So templates can be tested with the server's semantics.
package simulate
