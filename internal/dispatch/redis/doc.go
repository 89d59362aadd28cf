// Package redis is an engine.Dispatcher on Redis: the order of ready steps and the
// leases on them, quicker than the database that keeps the truth.
//
// # What is kept
//
// All keys of an installation begin with {PREFIX}: and so share a hash tag: they
// live on one node of a Redis Cluster, and a verb is one Lua script there (package
// directory scripts; prelude.lua has the layout).
//
//	epoch     string      the name of the complete content, and the run of the server that it was filled in
//	loading   string      the turn of the process that fills it, with a time-out
//	steps     hash        step -> how it was offered, and who holds it
//	q:ROUTE   sorted set  the waiting steps of a route; bytes of the member are the order
//	routes    set         routes where something waits
//	leases    sorted set  held steps by when to look after them
//	w:WORKER  set         what a worker holds
//	workers   set         workers who hold something
//
// # When it is lost
//
// Every script compares the epoch with the one that this process believes in. The
// run of the server is compared after each new connection, and by Check: a server
// that was restarted, or another one that took its place, may have lost the last
// moments, whatever it has kept. In both cases the answer is ErrDispatchLost; one
// process fills the content anew (Reload, Offer, Loaded), the others learn its epoch
// by Check.
//
// # What Redis has to be
//
// Redis 6.2 or newer, or Valkey, alone, behind Sentinel or as a cluster. It must not
// evict keys (maxmemory-policy noeviction, which is its default); Check refuses one that
// would. Persistence is of no use here: content that outlives its server is thrown
// away.
package redis
