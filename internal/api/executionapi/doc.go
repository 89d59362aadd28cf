// Package executionapi is the compatibility family /api/v1/executions without its routes: tasks as executions of
// actions, for clients of systems that hand each execution to one worker and time it out in that worker's queue.
//
// An execution is a task: the same ID, the same row. Nothing here has a rule of its own; Projection reads and changes
// tasks through the interfaces that every other family uses. Package httpapi/executions has the routes.
//
// Begin with execution.go; status.go maps states to statuses.
package executionapi
