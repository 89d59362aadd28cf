// Package broker receives from and sends to brokers, with all that is the same for every one of them: batches, retries
// with backoff and jitter, reconnection, a circuit breaker, and acknowledgement after the commit. Below it is the seam
// in package driver, so a new broker is a driver and nothing else.
//
// A [Source] gives each batch of a queue to a function that stores it, and acknowledges it afterwards. A [Target] sends
// messages and says of each what became of it: sent, refused, or not known.
//
// Begin with source.go and large.go, then target.go with sending.go. Both use the connection in link.go, which retry.go
// keeps from overloading a broker that is down; status.go tells an operator how it stands.
package broker
