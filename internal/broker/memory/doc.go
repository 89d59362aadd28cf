// Package memory is a broker in this process, and its driver, for tests and the demo: nothing survives the process. A
// [Broker] has named queues; each driver that it opens is a connection.
//
// It passes the suite of package brokertest, and can fail like real brokers: see faults.go. Begin with broker.go, then
// receiver.go.
package memory
