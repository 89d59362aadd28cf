// Package kafka has the driver of Kafka.
//
// # Receiving
//
// A receiver is a member of a consumer group that reads one topic. A goroutine polls; Receive returns what it has
// buffered (receiver.go). An offset is committed by Ack only, up to the first message that is not acknowledged
// (partition.go). When the group takes a partition away, what was delivered may be acknowledged first (partition.go).
// Offsets that are not in the log any more are reported as a loss, never skipped in silence (position.go).
//
// # Sending
//
// A destination is a topic, or a topic and a partition (send.go). Each Send has an idempotent producer for itself, so
// that it knows whether anything was written when it gives up (producer.go).
//
// # Content
//
// Null values, null headers and event times become headers with names that begin with kafka-, and are restored when
// the message is sent (record.go).
//
// Begin with driver.go.
package kafka
