// Package strictjson reads JSON documents of callers strictly: [Decode] refuses a document that departs
// from a [Shape], and lists every problem with a JSON pointer (RFC 6901). A [Compiler] makes shapes
// from the schemas that huma derives from Go types, so that the OpenAPI document and the reader agree.
//
// The reader walks over the bytes once, in addition to the decoder, and builds no values: a document without
// problems costs one pass and no memory. Read decode.go first, then walk.go.
//
// encoding/json/v2 (Go 1.26, GOEXPERIMENT=jsonv2, with RejectUnknownMembers) refuses repeated names, unknown
// names, names in the wrong case and invalid UTF-8, and reports the line or a pointer. It differs in these
// points:
//
//   - It stops at the first problem, and its pointer for an unknown or repeated name leads to
//     the object. This package lists up to 50 problems, each at its own pointer.
//   - It checks no required names, ranges, lengths and enumerations, no strict forms of times
//     and UUIDs, and no alternatives (a priority is a name or a number).
//   - It refuses 59.0 and 5.9e1 for an integer, which are equal to 59 in JSON, and accepts
//     null for everything. This package accepts null for an optional name only.
//   - It decodes an array before it counts it: two bytes of JSON can become a struct of 300.
//     This package checks a large document before it spends memory.
//   - It refuses names that are repeated inside a payload. This package passes payloads
//     (json.RawMessage) byte for byte.
//   - It is an experiment: a program that imports it builds only where GOEXPERIMENT is set,
//     and a user's `go install` does not set it.
//
// huma's own validation and santhosh-tekuri/jsonschema list all problems too, but they read a tree of decoded
// maps: twice the work, and names in another case or repeated names are already lost. The reader of the
// network bounds the bytes of a document.
package strictjson
