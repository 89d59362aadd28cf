// Package intake decides which task a message becomes: it reads type, priority, key and context from a message as the
// settings of its source say. It is pure: it reads no clock and no database, and knows no broker.
//
// Messages are hostile. What does not fit the settings is no task, and the reason is one sentence about the message.
//
// Begin with plan.go; envelope.go writes the context around a payload.
package intake
