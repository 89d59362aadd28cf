// Package stepworker has the verbs of the worker protocol in its own words, where a worker leases steps: register,
// poll, start, progress, result, heartbeat, drain. They are handlers of package endpoint without routes. Each verb
// limits a worker to the namespaces of the API key (scope.go), then calls the Backend.
package stepworker
