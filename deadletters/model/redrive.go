package model

import "slices"

// Operation is what a redrive does with its items.
type Operation string

// The operations.
const (
	// OpRedrive sends letters back, and runs the failed steps of the tasks of cases again.
	OpRedrive Operation = "redrive"
	// OpDiscard discards letters, and cancels the tasks of cases.
	OpDiscard Operation = "discard"
	// OpRestore opens discarded letters again. RestoreLetter opens one that was sent back, too.
	OpRestore Operation = "restore"
)

// Operations lists the operations.
var Operations = []Operation{OpRedrive, OpDiscard, OpRestore}

// Known reports whether the operation exists.
func (o Operation) Known() bool { return slices.Contains(Operations, o) }

// RedriveState is the state of a redrive.
type RedriveState string

// The states of redrives.
const (
	RedriveDraft     RedriveState = "draft"     // frozen, not started
	RedriveRunning   RedriveState = "running"   // sends a wave
	RedriveObserving RedriveState = "observing" // waits to see what of a wave comes back
	RedrivePaused    RedriveState = "paused"    // by an operator
	RedriveHalted    RedriveState = "halted"    // by its stop rule
	RedriveDone      RedriveState = "done"
	RedriveCancelled RedriveState = "cancelled"
)

// RedriveStates lists the states.
var RedriveStates = []RedriveState{RedriveDraft, RedriveRunning, RedriveObserving, RedrivePaused, RedriveHalted,
	RedriveDone, RedriveCancelled}

// Known reports whether the state exists.
func (s RedriveState) Known() bool { return slices.Contains(RedriveStates, s) }

// redriveTransitions is the only table of a redrive's transitions.
var redriveTransitions = map[RedriveState][]RedriveState{
	RedriveDraft:     {RedriveRunning, RedriveCancelled},
	RedriveRunning:   {RedriveObserving, RedrivePaused, RedriveHalted, RedriveDone, RedriveCancelled},
	RedriveObserving: {RedriveRunning, RedrivePaused, RedriveHalted, RedriveDone, RedriveCancelled},
	RedrivePaused:    {RedriveRunning, RedriveObserving, RedriveCancelled},
	RedriveHalted:    {RedriveRunning, RedriveCancelled},
	RedriveDone:      {},
	RedriveCancelled: {},
}

// Next lists the states that may follow s.
func (s RedriveState) Next() []RedriveState { return redriveTransitions[s] }

// Can reports whether a redrive may move from s to t.
func (s RedriveState) Can(t RedriveState) bool { return slices.Contains(redriveTransitions[s], t) }

// Ended reports whether a redrive does nothing more.
func (s RedriveState) Ended() bool { return s == RedriveDone || s == RedriveCancelled }

// Active reports whether a redrive has something to do without an operator, now or later.
func (s RedriveState) Active() bool { return s == RedriveRunning || s == RedriveObserving }

// RedriveAction is the verb of an act on a redrive or a replay.
type RedriveAction string

// The actions.
const (
	StartRedrive  RedriveAction = "start"
	PauseRedrive  RedriveAction = "pause"
	ResumeRedrive RedriveAction = "resume"
	CancelRedrive RedriveAction = "cancel"
)

// ItemState is the result of one item of a redrive.
type ItemState string

// The states of items.
const (
	ItemPending   ItemState = "pending"
	ItemSending   ItemState = "sending"   // its outcome is not recorded yet
	ItemUnknown   ItemState = "unknown"   // it may have arrived, or not; it is sent again under the same number
	ItemSent      ItemState = "sent"      // confirmed, and not seen again
	ItemReturned  ItemState = "returned"  // it died again
	ItemCompleted ItemState = "completed" // the task, or an operation other than sending
	ItemFailed    ItemState = "failed"    // the item stays as it was
	ItemSkipped   ItemState = "skipped"   // it had changed since the freeze
)

// ItemCounts counts the items of a redrive by their states.
type ItemCounts struct {
	Pending   int `json:"pending"`
	Sending   int `json:"sending"`
	Unknown   int `json:"unknown" doc:"They may have arrived, or not, and are sent again under the same numbers until that is known."`
	Sent      int `json:"sent"`
	Returned  int `json:"returned"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Skipped   int `json:"skipped"`
	Uncertain int `json:"uncertain" doc:"Among the others: a try had no answer. What was sent may be there twice, under the same number; what failed may be there once."`
}

// Decided returns the number of items that have a result: neither pending, nor being sent, nor unknown.
func (c ItemCounts) Decided() int { return c.Sent + c.Returned + c.Completed + c.Failed + c.Skipped }

// RedriveWave counts the items of a wave by their states.
type RedriveWave struct {
	No int `json:"no"`
	ItemCounts
}

// DestinationCheck is whether letters can be sent to a destination.
type DestinationCheck struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	// Letters is their number among those that a preview looked at.
	Letters int  `json:"letters"`
	Exists  bool `json:"exists"` // only known if Allowed
	Allowed bool `json:"allowed"`
}
