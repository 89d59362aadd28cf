// Package web is the HTTP server around the handlers. A Front holds the shared state of all handlers of a
// process: the log, the API keys, the budget of request bodies. Mount puts a handler behind the Front; the
// Policy of the mount selects the checks before the handler:
//
//	observe.go  request ID, security headers, log line, panic to 500
//	origin.go   requests of foreign web pages, and to foreign host names
//	keys.go     API key and permission
//	body.go     size and time of a body
//
// Refusals are problems of RFC 9457 (problem.go). LimitConnections and Serve run the result on a listener.
// The package is independent of routes and backends. Read front.go first.
package web
