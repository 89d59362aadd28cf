// Package executions is the compatibility family /api/v1/executions: tasks as executions of actions. It never shows a
// task that the other families do not have; it names states and fields in its own way.
//
// routes.go lists the family. The JSON types and the mapping of statuses are in package executionapi. The stream of the
// family is in package httpapi, with the other one.
package executions
