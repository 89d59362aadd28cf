// Package model holds the values of dead letters that are common to the server and to package deadletters, which shows
// them under its own names: states with their transitions, kinds, operations, counts. So no word of the API is
// translated. It imports the standard library only.
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
	LetterDiscarded LetterState = "discarded" // discarded with a reason; it can be restored
)

// LetterStates lists the states.
var LetterStates = []LetterState{LetterOpen, LetterScheduled, LetterRedriving, LetterRedriven, LetterDiscarded}

// letterTransitions is the only table of a letter's transitions. From scheduled to scheduled the due time changes.
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
	Duplicate ReceiptStatus = "duplicate" // known; nothing changed
	Returned  ReceiptStatus = "returned"  // a letter that was sent back is open again
)

// Change is one difference between an original and its edited form.
type Change struct {
	Pointer string `json:"pointer" doc:"JSON pointer into the payload, or key, header NAME, payload."`
	// Before and After are cut to 512 bytes; "" where there is none.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// GroupState is the state of a group.
type GroupState string

// The states of groups.
const (
	GroupOpen         GroupState = "open"
	GroupAcknowledged GroupState = "acknowledged" // somebody is working on it
	GroupResolved     GroupState = "resolved"     // a new failure opens it again, as a regression
	GroupIgnored      GroupState = "ignored"      // until a time, a count or a rate
)

// GroupStates lists the states.
var GroupStates = []GroupState{GroupOpen, GroupAcknowledged, GroupResolved, GroupIgnored}

// groupTransitions is the only table of a group's transitions. From ignored to ignored the bounds change.
var groupTransitions = map[GroupState][]GroupState{
	GroupOpen:         {GroupAcknowledged, GroupResolved, GroupIgnored},
	GroupAcknowledged: {GroupOpen, GroupResolved, GroupIgnored},
	GroupResolved:     {GroupOpen},
	GroupIgnored:      {GroupIgnored, GroupOpen, GroupAcknowledged, GroupResolved},
}

// Next lists the states that may follow s.
func (s GroupState) Next() []GroupState { return groupTransitions[s] }

// Can reports whether a group may move from s to t.
func (s GroupState) Can(t GroupState) bool { return slices.Contains(groupTransitions[s], t) }

// Operation is the act of a redrive on its items.
type Operation string

// The operations.
const (
	// OpRedrive sends letters back, and runs the failed steps of the tasks of cases again.
	OpRedrive Operation = "redrive"
	// OpDiscard discards letters, and cancels the tasks of cases.
	OpDiscard Operation = "discard"
	// OpRestore opens discarded letters again. RestoreLetter also opens one that was sent back.
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
	RedriveObserving RedriveState = "observing" // waits for returns of a wave
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
	ItemUnknown   ItemState = "unknown"   // it may have arrived; it is sent again under the same number
	ItemSent      ItemState = "sent"      // confirmed, and not seen again
	ItemReturned  ItemState = "returned"  // it died again
	ItemCompleted ItemState = "completed" // the task, or an operation other than sending
	ItemFailed    ItemState = "failed"    // the item stays as it was
	ItemSkipped   ItemState = "skipped"   // changed since the freeze
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

// Decided counts the items with a result: neither pending, nor being sent, nor unknown.
func (c ItemCounts) Decided() int { return c.Sent + c.Returned + c.Completed + c.Failed + c.Skipped }

// RedriveWave counts the items of a wave by their states.
type RedriveWave struct {
	No int `json:"no"`
	ItemCounts
}

// DestinationCheck reports whether letters can be sent to a destination.
type DestinationCheck struct {
	Source      string `json:"source"`
	Destination string `json:"destination"`
	// Letters counts those that a preview read.
	Letters int  `json:"letters"`
	Exists  bool `json:"exists"` // only known if Allowed
	Allowed bool `json:"allowed"`
}

// ReplayState is the state of a replay.
type ReplayState string

// The states of replays.
const (
	ReplayDraft     ReplayState = "draft" // planned, not started
	ReplayRunning   ReplayState = "running"
	ReplayPaused    ReplayState = "paused" // by an operator
	ReplayFailed    ReplayState = "failed" // it needs an act; resume tries again
	ReplayDone      ReplayState = "done"
	ReplayCancelled ReplayState = "cancelled"
)

// ReplayStates lists the states.
var ReplayStates = []ReplayState{ReplayDraft, ReplayRunning, ReplayPaused, ReplayFailed, ReplayDone, ReplayCancelled}

// replayTransitions is the only table of a replay's transitions.
var replayTransitions = map[ReplayState][]ReplayState{
	ReplayDraft:     {ReplayRunning, ReplayCancelled},
	ReplayRunning:   {ReplayPaused, ReplayFailed, ReplayDone, ReplayCancelled},
	ReplayPaused:    {ReplayRunning, ReplayCancelled},
	ReplayFailed:    {ReplayRunning, ReplayCancelled},
	ReplayDone:      {},
	ReplayCancelled: {},
}

// Next lists the states that may follow s.
func (s ReplayState) Next() []ReplayState { return replayTransitions[s] }

// Ended reports whether a replay does nothing more.
func (s ReplayState) Ended() bool { return s == ReplayDone || s == ReplayCancelled }

// ReplayCounts counts messages of a replay.
type ReplayCounts struct {
	Letters int64 `json:"letters" doc:"Stored, those included that could not become tasks."`
	Tasks   int64 `json:"tasks" doc:"Made."`
	Known   int64 `json:"known" doc:"A letter of the source or a task already."`
	Gone    int64 `json:"gone" doc:"At most that many were deleted on the broker before they were read."`
}

// ReplayPart is the range of one partition.
type ReplayPart struct {
	Partition int32 `json:"partition"`
	From      int64 `json:"from"`
	To        int64 `json:"to" doc:"Not included."`
	Next      int64 `json:"next" doc:"Offset to read next."`
}

// Strategy is how a policy sends letters back.
type Strategy string

// The strategies.
const (
	Manual      Strategy = "manual"      // not at all: an operator decides
	Immediate   Strategy = "immediate"   // without a delay
	Fixed       Strategy = "fixed"       // after the base
	Exponential Strategy = "exponential" // after the base, multiplied for each replay, up to the cap
	Scheduled   Strategy = "scheduled"   // at a time of day
)

// Strategies lists the strategies.
var Strategies = []Strategy{Manual, Immediate, Fixed, Exponential, Scheduled}

// PolicySetter is the origin of a policy's settings.
type PolicySetter string

// The setters of policies.
const (
	SetByOperator      PolicySetter = "operator"      // over the API
	SetByPreset        PolicySetter = "preset"        // likewise, with the settings of a preset
	SetByConfiguration PolicySetter = "configuration" // the file of a node
	SetByEnvironment   PolicySetter = "environment"   // variables of a node
	SetByDefault       PolicySetter = "default"       // none: letters are left to operators
)

// WebhookAnswer is a webhook's answer to a test event.
type WebhookAnswer struct {
	Name      string  `json:"name"`
	MessageID string  `json:"message_id" doc:"The header webhook-id of the request."`
	Delivered bool    `json:"delivered" doc:"Whether the status was 2xx."`
	Status    int     `json:"status,omitempty" doc:"HTTP status; missing if there was no answer."`
	Seconds   float64 `json:"seconds"`
	Error     string  `json:"error,omitempty"`
}
