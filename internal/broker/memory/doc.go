// Package memory is a broker in this process, and its driver. It is for tests and for the demo: nothing survives the
// process. A [Broker] has named queues; every driver that it opens is a connection to it.
//
// It behaves as the seam demands of any driver, which package brokertest checks, and can be told to fail as real
// brokers do: see faults.go. Begin with broker.go, then receiver.go.
package memory
