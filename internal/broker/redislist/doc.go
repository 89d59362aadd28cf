// Package redislist takes entries from a Redis list so that a crash loses none: an entry moves into a list of its
// consumer (LMOVE), and leaves that when it is acknowledged. The list of a consumer that fell silent is moved back.
//
// A queue Q has these keys beside it, all in the slot of Q where Redis is a Cluster:
//
//	tasker:{Q}:processing:ID   list: what the consumer ID holds, the oldest first
//	tasker:{Q}:consumers       sorted set: consumers by the time at which they last showed themselves
//	tasker:{Q}:gone            sorted set: consumers whose entries were moved back, by the time of that
//
// Times are those of Redis, so clocks of consumers need not agree. An entry is known by its bytes; two equal entries
// are interchangeable. An ID belongs to one consumer and is used once: [NewID].
//
// A server that is out of memory still runs the verbs: they make room. Wait is refused then.
//
// names.go has the keys, list.go the verbs; each verb is a script, and so atomic.
package redislist
