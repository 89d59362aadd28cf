package task

import "fmt"

// MaxSignal bounds name, key and ID of a signal, in bytes.
const MaxSignal = 255

// SignalName identifies a signal; IDs are unique in a namespace.
type SignalName struct{ Namespace, ID string }

// Signal is an external message for steps that wait for its name and key, kept for a while for later waits.
type Signal struct {
	SignalName
	Name       string
	Key        string
	ReceivedAt Instant
	ExpiresAt  Instant
	Taken      int64
	// Fresh means that waiting steps may not have it yet.
	Fresh bool
	// Payload is JSON, nil for none; Bytes is its size.
	Payload []byte
	Bytes   int
}

// StepWait describes a step's wait beside its row: for lists, and for signals.
type StepWait struct {
	Step, Task         ID
	Namespace          string
	Template, StepName string
	Kind               WaitKind
	Name, Key          string
	At                 Instant
	Until              Instant
	// Fresh means that a signal may have missed this row before it was visible.
	Fresh bool
}

// Takes reports whether the wait matches a signal that arrived before its end.
func (w *StepWait) Takes(s *Signal) bool {
	return w.Kind == WaitSignal && w.Namespace == s.Namespace && w.Name == s.Name && w.Key == s.Key &&
		!w.Over(s.ReceivedAt)
}

// Over reports whether the wait has ended, even if no timer has handled it yet.
func (w *StepWait) Over(at Instant) bool { return w.Until != 0 && w.Until <= at }

// SignalFault returns the fault of a signal's name, key or ID, or "".
func SignalFault(s string) string {
	if s == "" {
		return "must not be empty"
	}
	return TextFault(s, MaxSignal)
}

// KeyOfWait checks the key of a wait with the context's values filled in.
func KeyOfWait(key string) error {
	if fault := SignalFault(key); fault != "" {
		return fmt.Errorf("the key %s", fault)
	}
	return nil
}
