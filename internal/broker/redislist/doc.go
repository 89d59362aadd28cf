// Package redislist takes entries from a Redis list so that a crash loses none: an entry moves into a list of its
// consumer (LMOVE), and leaves that when it is acknowledged. The list of a consumer that fell silent is moved back.
//
// A queue Q has these keys beside it, all in the slot of Q in a Redis Cluster:
//
//	tasker:{Q}:processing:ID   list: entries of the consumer ID, the oldest first
//	tasker:{Q}:consumers       sorted set: consumers by the time of their last heartbeat
//	tasker:{Q}:gone            sorted set: consumers by the time at which their entries were moved back
//
// Times are those of Redis, so clocks of consumers need not agree. Entries are identified by their bytes; equal ones
// are interchangeable. An ID belongs to one consumer and is used once: [NewID].
//
// A server that is out of memory still runs the verbs, which make room, but refuses Wait.
//
// names.go has the keys, list.go the verbs; each verb is a script, and so atomic.
package redislist
