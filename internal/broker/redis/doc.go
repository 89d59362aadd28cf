// Package redis has the drivers of two kinds of brokers of dead letters: Redis lists and Redis streams. A list that is
// empty does not exist, so its type cannot be looked up; a source therefore names its driver.
//
// # Lists
//
// Messages are taken by a script that moves them to a hash of the receiver's own, where each has an ID. A crash leaves
// every message in the list or in a hash. A receiver that gives no sign of life is gone: another one moves what it held
// to its own hash, in one script, and the IDs stay. The ID is the position of the message, by which capture recognises
// a repeated delivery. What is given back goes to the head of the list and gets a new ID the next time; therefore what
// may have been acknowledged is not given back, but left to be taken over.
//
// # Streams
//
// A receiver is a consumer of a group, and the group's list of pending entries does what the hashes do for lists. The
// position is the ID of the entry. See fields.go for what is what in an entry.
//
// # Sending
//
// One script marks a message as sent and adds it. The mark is kept for some time, so that a message whose send had no
// answer can be sent again.
//
// # Keys
//
// They have the hash tag of the list or stream, so that they are on its node of a cluster. QUEUE stands for its name:
//
//	tasker:{QUEUE}:receivers   sorted set  receivers of a list by the time at which they count as gone
//	tasker:{QUEUE}:held:ID     hash        what a receiver of a list holds, by ID
//	tasker:{QUEUE}:sent        sorted set  marks of what was sent, by time
//
// Begin with options.go and conn.go. receiver.go is the same for both kinds; lists.go and streams.go differ by their
// scripts. All scripts run on Redis 7 and Valkey.
package redis
