package model

import "slices"

// Kind is the kind of an item of the inbox.
type Kind string

// The kinds.
const (
	KindLetter Kind = "letter"
	KindCase   Kind = "case" // of a task; see package operate
)

// LetterState is the state of a letter.
type LetterState string

// The states of letters.
const (
	LetterOpen      LetterState = "open"      // waits for a decision; it never expires
	LetterScheduled LetterState = "scheduled" // a policy sends it back at its due time
	LetterRedriving LetterState = "redriving" // a redrive, or a policy, is sending it back
	LetterRedriven  LetterState = "redriven"  // was sent back, and has not come back since
	LetterDiscarded LetterState = "discarded" // given up, with a reason; it can be restored
)

// LetterStates lists the states.
var LetterStates = []LetterState{LetterOpen, LetterScheduled, LetterRedriving, LetterRedriven, LetterDiscarded}

// letterTransitions is the only table of a letter's transitions. A scheduled letter that stays scheduled gets another
// due time.
var letterTransitions = map[LetterState][]LetterState{
	LetterOpen:      {LetterScheduled, LetterRedriving, LetterDiscarded},
	LetterScheduled: {LetterScheduled, LetterOpen, LetterRedriving, LetterDiscarded},
	LetterRedriving: {LetterRedriven, LetterOpen},
	LetterRedriven:  {LetterOpen}, // it returned, or an operator wants it sent again
	LetterDiscarded: {LetterOpen},
}

// Next lists the states that may follow s.
func (s LetterState) Next() []LetterState { return letterTransitions[s] }

// Can reports whether a letter may move from s to t.
func (s LetterState) Can(t LetterState) bool { return slices.Contains(letterTransitions[s], t) }

// ReceiptStatus is the effect of capturing one message.
type ReceiptStatus string

// The effects.
const (
	Captured  ReceiptStatus = "captured"  // a new letter
	Duplicate ReceiptStatus = "duplicate" // known already; nothing changed
	Returned  ReceiptStatus = "returned"  // a letter that was sent back is open again
)

// Change is one difference between an original and its edited form.
type Change struct {
	Pointer string `json:"pointer" doc:"JSON pointer into the payload, or key, header NAME, payload."`
	// Before and After are cut to 512 bytes; "" where there is none.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}
