// Package taskworker has the verbs of the worker protocol in the words of the queue, where a worker knows tasks but no
// steps. They are handlers of package endpoint without routes: /api/v1/workers and /internal/workers serve them.
//
// A task of this API has one step, so a task names a lease; only for a task of several steps does a worker have to say
// which. words.go has the bodies, verbs.go translates them to and from those of package stepworker. The rules are those
// of the protocol: leases, tokens and refusals are the same in either words. The SDK uses the other words.
package taskworker
