// Package envelope recognises values of JSON documents that a client has encoded. It is pure.
//
// An envelope is an object with the members "$tasker.codec", the name of the codec, "data", the encoded value in
// base64, and optionally "key", the name of a key; it has no others, and all are texts. The name of the first member is
// reserved, and is written without escapes.
package envelope
