// Package dlq is the compatibility family /api/dlq: dead letters as the failed jobs of queues, in the words of systems
// that keep them in lists of Redis. It is a thin view: what it shows and does is what the inbox has and does.
//
// routes.go lists the family. jobs.go has the questions, requeue.go sends jobs back, and clear.go discards and restores
// them. The JSON types are in package dlqapi.
package dlq
