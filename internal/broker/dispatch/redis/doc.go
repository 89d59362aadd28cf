// Package redis is an engine.Dispatcher on Redis: the order of ready steps and the leases on them, faster than the
// database, which has the truth.
//
// # Content
//
// All keys of an installation begin with {PREFIX}: and so share a hash tag and a node of a Redis Cluster. Each verb is
// one Lua script (package directory scripts; prelude.lua has the layout).
//
//	epoch     string      the name of the complete content, and the run of the server that it was filled in
//	loading   string      the turn of the process that fills it, with a time-out
//	steps     hash        step -> its offer, and its holder
//	q:ROUTE   sorted set  the waiting steps of a route; bytes of the member are the order
//	routes    set         routes with waiting steps
//	leases    sorted set  held steps by the time of the next check
//	w:WORKER  set         the steps that a worker holds
//	workers   set         workers with steps
//
// # Loss
//
// Every script compares the epoch with this process's own. Each new connection and Check compare the run of the server:
// a restarted or replaced server may have lost the last moments, even if it kept the rest. In both cases the answer is
// ErrDispatchLost; one process fills the content anew (Reload, Offer, Loaded), the others learn its epoch by Check.
//
// # Requirements
//
// Redis 6.2 or newer, or Valkey, alone, behind Sentinel or as a cluster. It must not evict keys (maxmemory-policy
// noeviction, the default); Check refuses a server that would. Persistence is useless here: content that outlives its
// server is discarded.
package redis
