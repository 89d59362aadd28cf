// Package tasker is the Go API of Tasker, a durable task and workflow engine that specializes in the handling of
// failed work.
//
// A [Client] submits tasks and reads their state. It uses a [Backend]: a server, reached with remote.Dial, or an
// engine in the same process, opened with embedded.Open. Its methods and errors are the same on either; every error
// is an [*Error] with a [Code]. A Worker of package worker runs the steps of tasks with Handlers.
//
// # Delivery
//
// An accepted task is never lost. One worker at a time holds a step, under a lease with a fencing token; the Backend
// refuses a result under an old token with [CodeStaleToken]. Delivery is at least once: when a worker dies, its step
// runs again, so handlers should be idempotent.
//
// # Imports
//
// This package, remote and worker import the standard library and a UUID library only: no database driver, no broker
// client.
//
// # Reading
//
// Start with backend.go, the verbs; then client.go, their user. Package remote implements Backend over HTTP.
package tasker
