// Package letters holds the capture and the redrive of dead letters in Redis, and the consumers of package redisqueue,
// to their promises while everything around them fails: nodes, applications and Redis are killed, connections are cut,
// frozen and slowed down, Redis is emptied, and a replica that is behind takes over.
//
//	producer -> dlq, dlq2 -> [nodes] -> letters -> redrives, /api/dlq, policy -> orders -> consumer
//	                ^                                                                         |
//	                +------------------------------ dies again -------------------------------+
//
// A run ends when all is settled. Then every message that went in is one letter; every delivery is reported, and none
// came twice. What Redis has lost by FLUSHALL is known exactly, because one script reads and deletes it. What it has
// lost by a failover was written after the replica was cut off; a message of that time may be missing or be there
// twice.
//
// The runs of consumers check that every job is done, or is a dead letter, and never neither.
//
// Begin with options.go, which lists the runs, and run.go. world.go is what is outside of Tasker, strike.go what goes
// wrong, check.go compares. application.go and consumers.go are the runs of package redisqueue.
package letters
