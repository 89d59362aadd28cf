// Package httpapi serves a tasker.Backend over HTTP: JSON in, JSON out, RFC 9457 problems for errors, and an OpenAPI
// 3.1 document derived from the handlers' own types.
//
// routes.go shows the whole API on one screen. A request passes through, in order:
//
//	package web    request ID, security headers, log line, panic to 500, origin
//	guard.go       API key and permission of the operation, well-formed URL
//	body.go        size, content type, strict decoding (package strictjson)
//	the handler    in the file of its resource; namespaces in scope.go
//	answer.go      encoding, or a problem of package web
//
// Bodies are decoded once, into the handler's type, and checked against the schema of the OpenAPI document. huma's own
// validation decodes a second time into maps, which costs more than the rest of the server on the routes with batches;
// see BenchmarkSubmitBatch.
package httpapi
