// Package upkeep runs the background loops: steps that are due become ready, leases that ran out end, silent workers
// are marked dead, tasks past their deadline are put in error, and rows beyond their retention are deleted.
//
// A Loop is a name, an interval, and a function that handles one batch. A Runner runs any Loop: processes that share a
// store take turns. Upkeep holds the loops of the engine, one file each, and follows other processes. Begin with
// runner.go, then upkeep.go and any of the loops.
package upkeep
