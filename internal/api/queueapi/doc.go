// Package queueapi is the compatibility family /api/v1 without its routes: the JSON types of a priority queue of tasks,
// its interface to an engine (Backend), and a Backend over HTTP.
//
// The family keeps the words of its model (status, user_id, dlq); docs/reference/queue-api.md translates them. A task
// enqueued here has one step; a workflow shows its most advanced step.
//
// Package httpapi/queue serves it, package local implements it, and the command line uses it. Users of the SDK do not
// need it. Begin with Backend in queue.go; http.go is the client.
package queueapi
