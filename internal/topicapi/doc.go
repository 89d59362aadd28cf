// Package topicapi has the JSON types of the compatibility family /api/v1/dlq/... and the interface that its routes
// need. It names things as processors of dead letter topics do: messages with the statuses pending, scheduled, retried
// and discarded, original topics, retry policies. The messages are dead letters; the family adds no state to them.
package topicapi
