// Package protocol is the worker protocol: how a worker registers, claims steps, renews their leases and settles them,
// and how an operator looks at workers, drains and cordons them. Package worker uses it; other programs need it to
// write their own worker, or to look after a fleet. docs/reference/worker-protocol.md describes the protocol and
// its time limits.
//
//	workers, err := protocol.Of(client).Workers(ctx)
package protocol
