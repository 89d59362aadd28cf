// Package intake decides which task a message becomes, as the settings of its source say. It is pure: it reads no
// clock and no database, and imports no broker.
//
// Messages are untrusted. A message that does not fit the settings is refused with a one-sentence reason.
//
// Begin with plan.go; envelope.go writes the context around a payload.
package intake
