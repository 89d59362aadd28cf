// Package endpoint turns Go functions into operations over HTTP. Each family of routes adds its operations to one API:
//
//	endpoint.Add(api, endpoint.Get("/v1/tasks", "list-tasks", "List tasks", read, 0), listTasks)
//
// Router and OpenAPI document follow from the same types: parameters, body and answer of the function. A request
// passes through, in order:
//
//	guard.go       API key and permission of the operation, well-formed URL
//	body.go        size, content type, strict decoding (package strictjson)
//	the function   a family's handler; scope.go limits it to the namespaces of the key
//	answer.go      encoding, ETag (etag.go), or a problem of package web
//
// items.go helps with requests whose items have separate answers, parameters.go has query parameters that several
// operations share, and methods.go answers requests without a route.
//
// Bodies are decoded once, into the handler's type, and checked against the schema of the OpenAPI document. huma's own
// validation decodes a second time into maps, which costs more than the rest of the server on the routes with batches;
// see BenchmarkSubmitBatch of package httpapi.
//
// A handler returns an [Answer] or an error; it never touches the HTTP response. The exceptions are streams: see
// [AddStream].
package endpoint
