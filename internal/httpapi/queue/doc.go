// Package queue is the compatibility family /api/v1: the same tasks as one priority queue, in the words of systems with
// queues only. routes.go lists the family. The JSON types of tasks are in package queueapi, those of workers in package
// taskworker.
package queue
