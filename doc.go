// Package tasker is the Go API of Tasker, a durable task and workflow engine that specializes in the handling
// of failed work.
//
// A [Client] submits tasks and reads their state; a [Worker] runs their steps. Both use a [Backend]: a server
// reached with [Dial], or an engine in the same process opened by the package embedded. A Client offers the
// same methods, with the same errors, on either. A [Handler] is the function that runs one step, a [Job] the
// step it runs, and an [*Error] with a [Code] the error of every call.
//
// # Delivery
//
// An accepted task is never lost. One worker at a time holds a step, under a lease with a fencing token; the
// Backend refuses a result under an old token with [CodeStaleToken]. Delivery is at least once: when a worker
// dies, its step runs again, so handlers should be idempotent.
//
// # Imports
//
// This package imports the standard library and a UUID library only. A worker binary contains no database
// driver and no broker client.
//
// # Reading
//
// Start with backend.go, the verbs; then client.go and worker.go, the two users of a Backend. The files
// http_*.go implement Backend over HTTP, the files worker_*.go are the parts of a Worker.
package tasker
