// Package pointer works with JSON pointers (RFC 6901), by which errors say where in a document
// a problem is.
//
// Move rewrites a pointer when a document becomes a part of another one, or the other way
// round: the engine reports a problem at /tasks/3/context, and the caller who sent one task
// must read /context. The SDK and the translation in package local both need that, hence the
// package. Start and End find the values of a document without decoding it, so that what a pointer
// does not lead to keeps its bytes. The package imports the standard library only, because the SDK does.
package pointer
