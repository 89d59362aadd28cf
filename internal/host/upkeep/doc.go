// Package upkeep runs the background loops: due steps become ready, expired leases end, silent workers are marked
// dead, tasks past their deadline are set to error, and rows beyond their retention are deleted.
//
// A Loop has a name, an interval, and a function that handles one batch. A Runner runs any Loop: processes that
// share a store take turns. Upkeep has the loops of the engine, the short ones in loops.go, and follows other
// processes. Begin with runner.go, then upkeep.go and any of the loops.
package upkeep
