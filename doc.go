// Package tasker is the Go API of Tasker, a durable task and workflow engine
// whose heart is what happens to work that fails.
//
// A [Client] puts work in and looks at it; a [Worker] carries it out. Both
// speak to a [Backend]: either a server reached with [Dial], or an engine in
// the same process opened by the package embedded. Everything a Client can do
// against one it can do against the other, with the same errors.
//
// # Delivery
//
// A task that was accepted is never lost. A step is handed to one worker at a
// time, under a lease with a fencing token; a result that arrives under an old
// token is refused with [CodeStaleToken]. Delivery is at least once: when a
// worker dies, its step runs again, so handlers should be idempotent.
//
// # Imports
//
// This package imports the standard library and a UUID library only. A worker
// binary that uses it carries no database driver and no broker client.
package tasker
