// Package web is the HTTP server around whatever it serves. A Front holds what
// all handlers of a process share: the log, the API keys, the budget of request
// bodies. Mount puts a handler behind the Front; the Policy of the mount says
// what is checked before the handler sees a request:
//
//	observe.go  request ID, security headers, log line, panic to 500
//	origin.go   requests of foreign web pages, and to foreign host names
//	keys.go     API key and permission
//	body.go     size and time of a body
//
// Refusals are problems of RFC 9457 (problem.go). LimitConnections and Serve
// run the result on a listener. The package knows no route and no backend.
package web
