// Package stepworker has the verbs of the worker protocol, where a worker leases steps: register, poll, start,
// progress, result, heartbeat, drain. They are handlers of package endpoint without routes; two families serve them.
// Each verb limits a worker to the namespaces of the API key (scope.go), then calls the Backend.
//
// The ID of a worker comes from the path, never from a body: the key was checked for that worker. Requests with several
// leases have an answer for each; a bare lease or result is answered with the status of its own error.
package stepworker
