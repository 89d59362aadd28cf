// Package tasktest runs handlers in unit tests: without a server, a database or a wait.
//
// Run gives one step to a real worker.Worker and returns what the worker would report: the result, the failure, the
// progress. So middleware, options of handlers, panics, timeouts and the decoding of input behave as in production. The
// test says what the step has: its context, the results of its parents, the number of the attempt. A Client stands for
// the client that a handler submits tasks with, and remembers them.
//
// # Time
//
// The package has no clock. In a bubble of testing/synctest, all of it uses the bubble's clock: a handler that sleeps
// for an hour, a timeout and a back-off take no time, and Outcome.Took is exact. A handler that uses a real network
// does not belong in a bubble; Run also works outside of one.
//
// For tests that need a whole engine (retries, workflows, unique keys), use embedded.Open with the DSN "memory:".
package tasktest
