// Package masking hides in the answers of the API what templates and sources mark as sensitive.
//
// It goes through the Go value of an answer. A type that says which task or source it is about (subjects.go) sets the
// pointers for everything in it; every JSON value below is masked by them. A JSON value outside of all subjects is
// shown as it is: of all answers those are the steps that a worker gets to run, which it needs as they are. A new
// answer with a JSON value of a task or letter needs its subject here.
package masking
