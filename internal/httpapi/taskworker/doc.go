// Package taskworker has the verbs of the worker protocol in the words of the queue, where a worker knows tasks but no
// steps. They are handlers of package endpoint without routes: /api/v1/workers and /internal/workers serve them.
// words.go has the bodies, verbs.go translates them to and from those of package stepworker. The SDK uses the other
// words.
package taskworker
