// Package masking hides sensitive values in the answers of the API.
//
// It walks the Go value of an answer. A type with a subject, the task or source that it is about (subjects.go), sets
// the pointers that mask every JSON value within it. A JSON value outside of all subjects is not masked: those are the
// steps that a worker runs. A new answer with a JSON value of a task or letter needs its subject here.
package masking
