// Package template reads workflow templates: a YAML document (JSON is YAML) becomes a linked task.Template, and a
// task's context is checked against the template's JSON Schema.
//
// A document passes four stages, each in one or two files:
//
//	source --(package document)--> tree of nodes with positions
//	       --(fields.go, read.go, steps.go)--> task.Template
//	       --(content.go)--> fingerprint of its meaning
//	       --(body.go)--> canonical JSON for the store, and back
//
// All stages report into one list of problems, so an author sees them together, each with file:line:column. The
// package does no I/O: it never loads a schema from the network or from disk.
//
// Begin with read.go (Parse) and schema.go (CompileSchema). limits.go lists every bound with its reason.
package template
