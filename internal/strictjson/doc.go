// Package strictjson reads JSON documents of callers strictly: [Decode] refuses whole
// whatever departs from a [Shape], and lists every problem with a JSON pointer (RFC 6901).
// A [Compiler] makes shapes of the schemas that huma derives from Go types, so that the
// OpenAPI document and the reader say the same.
//
// The reader walks over the bytes once beside the decoder and builds no values: a document
// without problems costs one pass and no memory. Read decode.go first, then walk.go.
//
// What encoding/json/v2 does (Go 1.26, GOEXPERIMENT=jsonv2, with RejectUnknownMembers): it
// refuses repeated names, unknown names, names in the wrong case and invalid UTF-8, and
// gives the line or a pointer. Where this package does something else:
//
//   - It stops at the first problem, and its pointer for an unknown or repeated name leads to
//     the object. Here one answer lists up to 50 problems, each at its own pointer.
//   - It knows no required names, ranges, lengths and enumerations, no strict forms of times
//     and UUIDs, and no alternatives (a priority is a name or a number).
//   - It refuses 59.0 and 5.9e1 for an integer, which JSON does not tell from 59, and takes
//     null for everything. Here null is taken for an optional name only.
//   - It decodes before it is known whether an array is too long: two bytes of JSON can
//     become a struct of 300. Here a large document is checked before memory is spent.
//   - It refuses names that are repeated inside a payload. Payloads (json.RawMessage) pass
//     byte for byte here.
//   - It is an experiment: a program that imports it builds only where GOEXPERIMENT is set,
//     and a user's `go install` does not set it.
//
// huma's own validation and santhosh-tekuri/jsonschema list all problems too, but look at a
// tree of maps that is decoded before: twice the work, and names in another case or repeated
// are gone by then. Bounds on the bytes of a document are the business of the one who reads
// it from the network.
package strictjson
