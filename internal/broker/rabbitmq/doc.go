// Package rabbitmq has the driver of RabbitMQ, for classic and quorum queues.
//
// # Receiving
//
// A receiver consumes from a queue on its own channel, with a prefetch that follows from the size of the messages
// (receiver.go). Unacknowledged messages go back when the channel closes, so Release does nothing: giving back twice
// would count twice towards the delivery limit of a quorum queue. Messages have no position.
//
// # Sending
//
// A destination is a queue, or an exchange with a routing key (send.go). Messages are published as mandatory and with
// confirms, many at a time. The server returns a message that no queue takes, and it fails. Some refusals, such as a
// missing permission, close the channel without naming a message; therefore the first message to a destination, and
// large ones, are sent alone (publisher.go).
//
// # Content
//
// Properties and typed headers become headers with names that begin with amqp-, and are restored when the message is
// sent (properties.go, table.go).
//
// Begin with driver.go.
package rabbitmq
