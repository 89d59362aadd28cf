// Package redis has the drivers of two kinds of brokers of dead letters: Redis lists and Redis streams. An empty list
// does not exist and has no type; a source therefore names its driver.
//
// # Lists
//
// A script takes messages by moving them to the receiver's hash, where each has an ID. A crash leaves every message in
// the list or in a hash. When a receiver is silent, another one moves its messages to its own hash, in one script, with
// their IDs. The ID is the position of the message, by which capture recognises a repeated delivery. A message that is
// given back goes to the head of the list and gets a new ID the next time; therefore one that may have been
// acknowledged is left to be taken over.
//
// # Streams
//
// A receiver is a consumer of a group, whose list of pending entries corresponds to the hashes of lists. The position
// is the ID of the entry. See fields.go for the fields of an entry.
//
// # Sending
//
// One script marks a message as sent and adds it. The mark stays for some time, so that a message without an answer can
// be sent again.
//
// # Keys
//
// They have the hash tag of the list or stream, so that they are on its node of a cluster. QUEUE is its name:
//
//	tasker:{QUEUE}:receivers   sorted set  receivers of a list by the time at which they count as gone
//	tasker:{QUEUE}:held:ID     hash        messages of a receiver of a list, by ID
//	tasker:{QUEUE}:sent        sorted set  marks of sent messages, by time
//
// Begin with options.go and conn.go. receiver.go is the same for both kinds; lists.go and streams.go differ by their
// scripts. All scripts run on Redis 7 and Valkey.
package redis
