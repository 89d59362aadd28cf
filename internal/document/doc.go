// Package document reads one YAML or JSON document into a tree of nodes, each of which knows
// the line and column where it stands, so that whoever reads the tree can say where a
// problem is.
//
// YAML is that of the core schema of version 1.2, without tags, directives and keys that are
// not strings; values are those of JSON. [Limits] keep a small source from costing much time
// or memory, because documents come from outside. Read read.go first.
package document
