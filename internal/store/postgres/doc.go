// Package postgres is the engine's store for production: one PostgreSQL (15 or newer) shared by any number of identical
// processes. Its main type is Store; read open.go, then write.go.
//
// A unit of work is optimistic. It decides on rows from this process's cache, or reads them without locks, and saves a
// row only if it is unchanged: its system column xmin, the transaction that wrote it, shows that at no cost. It checks
// unsaved cached rows too. If another transaction was first, this one runs again on rows read afresh and locked. Steps
// are claimed with FOR UPDATE SKIP LOCKED.
//
// A unit of work costs one round trip for each query: its writes travel with the next query, or with the commit, as one
// pipeline. A worker's result is usually one round trip.
//
// Read next tx.go (a transaction and its commit), load.go and save.go (rows with versions), queue.go and queues.go
// (claims), and row_cache.go. conn.go and encode.go speak the protocol, dial.go watches connections, cluster.go and
// publish*.go connect the nodes.
package postgres
