// Package queue is the compatibility family /api/v1: the tasks as one priority queue, with the states and fields of
// systems with queues only.
//
// routes.go lists the family. tasks.go has submission, single tasks and statistics, list.go the list of tasks, and
// failed_tasks.go the permanent failures. Package queueapi has the JSON types of tasks, the client and the mapping of
// statuses; package taskworker has the types and handlers of workers.
package queue
