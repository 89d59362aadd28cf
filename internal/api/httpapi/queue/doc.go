// Package queue is the compatibility family /api/v1: the same tasks as one priority queue, in the words of systems with
// queues only. It never shows a state that the other families do not have; it names states and fields in its own way.
//
// routes.go lists the family. tasks.go has submission, single tasks and statistics, list.go the list of tasks, and
// failed_tasks.go what failed permanently. The JSON types of tasks are in package queueapi, which also has the client
// and the mapping of statuses; those of workers, with the handlers, are in package taskworker.
package queue
