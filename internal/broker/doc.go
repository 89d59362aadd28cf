// Package broker receives from and sends to brokers, with all that is common: batches, retries with backoff and jitter,
// reconnection, a circuit breaker, and acknowledgement after the commit. A new broker is only a driver; see package
// driver.
//
// A [Source] passes batches of a queue to a function that stores them, and acknowledges them afterwards. A [Target]
// sends messages and returns the outcome of each: sent, refused, or unknown.
//
// Begin with source.go and large.go, then target.go with sending.go. Both use the connection in link.go, which retry.go
// keeps from overloading a broker that is down; status.go shows their state to operators.
package broker
