// Package upkeep runs the background loops: what is due becomes ready, leases
// that ran out end, silent workers are buried, tasks past their deadline are
// put in error, and what is older than the retention allows is deleted.
//
// A Loop is a name, an interval, and a function that handles one batch. A Runner
// runs any Loop: where several processes share a store, they take turns. Upkeep
// holds the loops of the engine, one file each, and follows what other processes do.
package upkeep
