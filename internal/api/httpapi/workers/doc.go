// Package workers is the family /internal/workers: the worker protocol, in its own words (package stepworker) and, for
// workers written for a queue of tasks, in the words of the queue (package taskworker). dialect.go decides by a field
// that only one of them has; routes.go lists the family.
package workers
