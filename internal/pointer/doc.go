// Package pointer works with JSON pointers (RFC 6901), which say where in a document a
// problem is.
package pointer
