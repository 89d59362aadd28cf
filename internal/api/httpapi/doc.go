// Package httpapi serves a tasker.Backend over HTTP: JSON in, JSON out, RFC 9457 problems for errors, and an OpenAPI
// 3.1 document derived from the handlers' own types.
//
// routes.go shows the whole API on one screen; it calls Routes of each compatibility family. A request passes through,
// in order:
//
//	package web        request ID, security headers, log line, panic to 500, origin
//	package endpoint   API key, permission, body; see its doc.go
//	the handler        in the file of its resource, or in the package of its family
//	package endpoint   encoding, or a problem of package web
//
// The families: package queue is /api/v1, package workers is /internal/workers. They are independent of each
// other. Both use the verbs of package taskworker, where a worker has tasks and no steps, and of package stepworker, in
// the worker protocol's words.
//
// Handlers contain no rules of the domain. They check what concerns the request: permissions, namespaces that it names,
// preconditions that come in two places, and defaults that depend on the key, such as the actor. The Backend has all
// other rules, so that the engine in process behaves alike.
package httpapi
