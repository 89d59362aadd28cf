// Package letters checks the promises of capture and redrive in Redis, RabbitMQ and Kafka, of consumers with package
// redisqueue, and of the dispatch over RabbitMQ, under faults: nodes, applications, workers and brokers are killed and
// frozen, connections are cut, frozen and slowed down, Redis is emptied, a late replica takes over, and RabbitMQ
// blocks all publishers.
//
//	producer -> dlq, dlq2 -> [nodes] -> letters -> redrives, /api/dlq, policy -> orders -> consumer
//	                ^                                                                         |
//	                +------------------------------ dies again -------------------------------+
//
// A run ends when everything is settled. Then every message is one letter; every delivery is reported, and none came
// twice unless its send is reported as uncertain, where the broker does not remember sends. Kafka's records of one key
// come back in order. The loss by a FLUSHALL is known exactly, because one script reads and deletes. A failover loses
// what was written after the replica was cut off; such a message may be missing or twice.
//
// The runs of consumers check that every job is completed or a dead letter. Those of the dispatch keep a journal of
// the answers to callers and workers, which crashtest.Check compares with the end state: every task ends, no step is
// settled twice, and an expired message fails no attempt that has begun.
//
// Begin with options.go, which lists the runs, and run.go. world.go is the outside of Tasker; kinds.go, rabbit.go and
// kafka.go are its queues; strike.go has the faults, check.go compares. application.go and consumers.go are the runs
// of package redisqueue, fleet.go those of the dispatch. tap.go reports what passes a connection.
package letters
