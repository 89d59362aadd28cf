// Package rabbitmq brings assigned steps to workers over RabbitMQ, and handles the steps that expired in their queues.
//
// The database has the truth. A message is a notice of a lease, published after the lease is committed; a lost one
// loses nothing, because the lease ends by its own time. The engine alone decides which step is next; this package only
// chooses the worker (choose.go).
//
// dispatcher.go runs the parts, and session.go keeps connections. fleet.go follows the workers, and set.go requests
// steps for them. publisher.go publishes with confirms, message.go writes and reads messages. topology.go declares the
// exchange and the queues, move.go replaces a queue with other arguments, and remove.go deletes queues of lost workers.
// letters.go handles the queue of dead letters.
package rabbitmq
