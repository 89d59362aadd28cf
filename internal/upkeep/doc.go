// Package upkeep runs the background loops: what is due becomes ready, leases
// that ran out end, silent workers are buried, tasks past their deadline are
// put in error, and what is older than the retention allows is deleted. One file
// a loop; each is a rhythm around one verb of the engine. Where several processes
// share a store, they take turns at these, and each follows what the others do.
package upkeep
