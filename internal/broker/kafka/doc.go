// Package kafka has the driver of Kafka.
//
// # Receiving
//
// A receiver is a member of a consumer group that reads one topic. A goroutine polls; Receive returns its buffer
// (receiver.go). Only Ack commits an offset, up to the first unacknowledged message. When the group takes a partition
// away, delivered messages may be acknowledged first (partition.go). Offsets missing from the log are reported as a
// loss, never skipped silently (position.go).
//
// # Sending
//
// A destination is a topic, or a topic and a partition (send.go). Each Send has its own idempotent producer, which
// shows whether anything was written (producer.go).
//
// # Content
//
// Null values, null headers and event times become headers with names that begin with kafka-, and are restored when the
// message is sent (record.go).
//
// Begin with driver.go.
package kafka
