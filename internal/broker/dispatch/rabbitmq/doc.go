// Package rabbitmq brings assigned steps to workers over RabbitMQ, and hears of the steps that expired in their queues.
//
// The database is the truth. A message is a notice of a lease: it is published after the lease is committed, and losing
// it loses nothing, because the lease ends by its own time. Which step is next is decided by the engine alone; this
// package only decides which worker is asked first (choose.go).
//
//   - dispatcher.go runs the parts; session.go keeps connections to the broker.
//   - fleet.go knows the workers, and set.go asks the engine for steps on their behalf.
//   - publisher.go publishes with confirms; message.go writes and reads messages.
//   - topology.go declares the exchange and the queues; move.go replaces a queue that has other arguments.
//   - letters.go handles the queue of dead letters.
//   - remove.go deletes the queues of workers that are gone.
package rabbitmq
