// Package executions is the compatibility family /api/v1/executions: tasks as executions of actions, with its own names
// of states and fields.
//
// routes.go lists the family. The JSON types and the mapping of statuses are in package executionapi. The stream of the
// family is in package httpapi, with the other one.
package executions
