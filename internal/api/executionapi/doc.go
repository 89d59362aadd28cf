// Package executionapi is the compatibility family /api/v1/executions without its routes: tasks as executions of
// actions, for clients of systems that hand each execution to one worker and time it out in that worker's queue.
//
// An execution is a task with the same ID and row. Nothing here has its own rule: Projection uses the interfaces of
// every other family. Package httpapi/executions has the routes.
//
// Begin with execution.go; status.go maps states to statuses.
package executionapi
