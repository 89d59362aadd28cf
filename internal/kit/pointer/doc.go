// Package pointer works with JSON pointers (RFC 6901), which locate problems in a document.
//
// Move rewrites a pointer when a document becomes a part of another one, or the reverse: the engine reports a problem
// at /tasks/3/context, and the caller who sent one task must read /context. Start and End find values without decoding,
// so that other values keep their bytes. The SDK imports the package, so it imports the standard library only.
package pointer
