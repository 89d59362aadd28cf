// Package document reads one YAML or JSON document into a tree of nodes. Each Node has its line and column,
// so that the caller can report the place of a problem.
//
// YAML is the core schema of version 1.2, without tags, directives and keys that are not strings; values are
// those of JSON. [Limits] bound the time and memory of a small source, because documents come from outside.
// Read read.go first.
package document
