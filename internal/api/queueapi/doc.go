// Package queueapi is the compatibility family /api/v1 without its routes: the JSON types of a
// priority queue of tasks, its interface to an engine (Backend), and a Backend over HTTP.
//
// The family keeps the words of the queue that it is compatible with (status, user_id, dlq),
// and docs/reference/queue-api.md says what they are called elsewhere. A task enqueued here has one step;
// of a workflow the most advanced step is shown.
//
// Package httpapi/queue serves it, package local implements it, and the command line uses it. Users
// of the SDK do not need it.
//
// Begin with Backend in queue.go; queue.go holds the types and http.go the client over HTTP.
package queueapi
