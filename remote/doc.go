// Package remote connects a tasker.Client to a server.
//
// Start with http.go, the way of all requests; the other files hold the methods of the Backend by subject. gather.go
// puts submissions and results of concurrent callers into one request.
package remote
