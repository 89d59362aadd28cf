// Package taskworker has the verbs of the worker protocol in the words of the queue, where a worker has tasks and no
// steps. They are handlers of package endpoint without routes: /api/v1/workers and /internal/workers serve them.
//
// A task of this API has one step, so a task names a lease; only for a task of several steps must a worker name the
// step. words.go has the bodies; verbs.go translates them to those of package stepworker, so leases, tokens and
// refusals are the same. The SDK uses package stepworker's words.
package taskworker
