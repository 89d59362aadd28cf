// Package broker receives from and sends to brokers, with all that is the same for every one of them: batches,
// retries with backoff and jitter, reconnection, a circuit breaker, and acknowledgement after the commit. Below it is
// the seam in package driver.
//
// A [Source] gives each batch of a queue to a function that stores it, and acknowledges it afterwards. A [Target] sends
// messages and says of each what became of it. Begin with source.go, then target.go.
package broker
