package task

import "fmt"

// MaxSignal bounds the name and the key of a signal, and its ID, in bytes.
const MaxSignal = 255

// SignalName identifies a signal: IDs are unique in a namespace.
type SignalName struct{ Namespace, ID string }

// Signal is a message from outside for steps that wait for its name and key. It is kept for a while, for steps that
// begin to wait after its arrival.
type Signal struct {
	SignalName
	Name       string
	Key        string
	ReceivedAt Instant
	ExpiresAt  Instant
	// Taken counts the steps that have taken it.
	Taken int64
	// Fresh: steps that waited when it arrived may not have it yet.
	Fresh bool
	// Payload is JSON, nil for none. Bytes is its size.
	Payload []byte
	Bytes   int
}

// StepWait is what a waiting step waits for, beside its row: for lists, and for signals that look for their steps.
type StepWait struct {
	Step, Task         ID
	Namespace          string
	Template, StepName string // names
	Kind               WaitKind
	Name, Key          string // of a signal
	At                 Instant
	Until              Instant // 0: without end
	// Fresh: a signal may have arrived before this row was to be seen, and not have found it.
	Fresh bool
}

// Takes reports whether the wait is one for the signal, which arrived before the end of the wait.
func (w *StepWait) Takes(s *Signal) bool {
	return w.Kind == WaitSignal && w.Namespace == s.Namespace && w.Name == s.Name && w.Key == s.Key &&
		!w.Over(s.ReceivedAt)
}

// Over reports whether the wait has ended at a time, although the timers may not have looked at it yet.
func (w *StepWait) Over(at Instant) bool { return w.Until != 0 && w.Until <= at }

// SignalFault returns the fault of the name, the key or the ID of a signal, or "".
func SignalFault(s string) string {
	if s == "" {
		return "must not be empty"
	}
	return TextFault(s, MaxSignal)
}

// KeyOfWait checks the key of a wait for a signal, with the values of the context.
func KeyOfWait(key string) error {
	if fault := SignalFault(key); fault != "" {
		return fmt.Errorf("the key %s", fault)
	}
	return nil
}
