// Package letters holds the capture and the redrive of dead letters in Redis, RabbitMQ and Kafka, the consumers of
// package redisqueue, and the dispatch over RabbitMQ, to their promises while everything around them fails: nodes,
// applications, workers and brokers are killed and frozen, connections are cut, frozen and slowed down, Redis is
// emptied, a replica that is behind takes over, and RabbitMQ blocks all who publish.
//
//	producer -> dlq, dlq2 -> [nodes] -> letters -> redrives, /api/dlq, policy -> orders -> consumer
//	                ^                                                                         |
//	                +------------------------------ dies again -------------------------------+
//
// A run ends when all is settled. Then every message that went in is one letter; every delivery is reported, and none
// came twice, unless its send is reported as uncertain where the broker does not know what it was sent. Records of one
// key in Kafka come back in their order. What Redis has lost by FLUSHALL is known exactly, because one script reads and
// deletes it. What it has lost by a failover was written after the replica was cut off; a message of that time may be
// missing or be there twice.
//
// The runs of consumers check that every job is done, or is a dead letter, and never neither. Those of the dispatch
// keep a journal of what callers and workers were told, which crashtest.Check compares with what is there in the end:
// every task ends, no step is settled twice, and no run that has begun is failed by a message that expired.
//
// Begin with options.go, which lists the runs, and run.go. world.go is what is outside of Tasker, kinds.go, rabbit.go
// and kafka.go are its queues, strike.go is what goes wrong, check.go compares. application.go and consumers.go are the
// runs of package redisqueue, fleet.go those of the dispatch. tap.go tells when something comes by that matters.
package letters
