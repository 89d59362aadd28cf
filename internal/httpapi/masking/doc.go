// Package masking hides in the answers of the API what templates and sources mark as sensitive.
//
// It goes through the Go value of an answer. A type that says which task or source it is about (subjects.go) sets the
// pointers for everything in it; every JSON value below is masked by them. A type of the API with a JSON value that
// belongs to neither is in the list of those without payloads, which a test compares with all routes.
package masking
