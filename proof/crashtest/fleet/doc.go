// Package fleet runs workers over HTTP and over RabbitMQ against the real binary, a real RabbitMQ and each durable
// store, while servers, workers, the broker and connections are killed, frozen or cut.
package fleet
