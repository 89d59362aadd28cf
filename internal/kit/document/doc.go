// Package document reads one YAML or JSON document into a tree of nodes, each with its line and column for messages.
//
// YAML is the core schema of version 1.2, without tags, directives and keys that are not strings; values are those of
// JSON. [Limits] bound the time and memory of a hostile source. Read read.go first.
package document
