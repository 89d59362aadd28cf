// Package rabbitmq has the driver of RabbitMQ, for classic and quorum queues.
//
// # Receiving
//
// A receiver consumes from a queue on a channel of its own. How much the server may send ahead follows from the size of
// the messages (receiver.go). What was not acknowledged goes back when the channel closes, so Release does nothing: to
// give back twice would count twice towards the delivery limit of a quorum queue. Messages have no position.
//
// # Sending
//
// A destination is a queue, or an exchange with a routing key (send.go). Messages are published as mandatory and
// with confirms, many at a time. A message that no queue takes is returned by the server, and fails. What the server
// answers by closing the channel, such as a missing permission, is not told of a single message; therefore the first
// message to a destination, and large ones, are sent alone (publisher.go).
//
// # Content
//
// Properties and typed headers become headers with names that begin with amqp-, and are restored when the message is
// sent (properties.go, table.go).
//
// Begin with driver.go.
package rabbitmq
