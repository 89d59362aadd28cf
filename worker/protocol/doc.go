// Package protocol is the protocol between workers and servers: register, claim, renew and settle; and for operators,
// inspect, drain and cordon. Package worker uses it; import it to write another worker or to manage a fleet.
// docs/reference/worker-protocol.md describes the protocol and its time limits.
//
//	workers, err := protocol.Of(client).Workers(ctx)
package protocol
