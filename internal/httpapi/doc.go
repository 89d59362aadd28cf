// Package httpapi serves a tasker.Backend over HTTP: JSON in, JSON out, RFC 9457
// problems for errors, and an OpenAPI 3.1 document that is derived from the
// same types that the handlers take.
//
// routes.go is the whole API on one screen. A request passes through, in order:
//
//	package web    request ID, security headers, log line, panic to 500, origin
//	guard.go       API key and permission of the operation, well-formed URL
//	body.go        size, content type, strict decoding (decode.go, walk.go)
//	the handler    in the file of its resource; namespaces in scope.go
//	answer.go      encoding, or a problem of package web
//
// Bodies are decoded once, into the type that the handler takes, and checked
// against the schema that the OpenAPI document shows. huma's own validation
// decodes a second time into maps, which costs more than the rest of the server
// on the routes that carry batches; see BenchmarkSubmitBatch.
package httpapi
