package deadletters

import "github.com/taskerhq/tasker/deadletters/model"

// Kind, and the names that follow, are those of package model, which documents them.
type (
	Kind          = model.Kind
	LetterState   = model.LetterState
	ReceiptStatus = model.ReceiptStatus
	Change        = model.Change

	GroupState = model.GroupState

	Operation        = model.Operation
	RedriveState     = model.RedriveState
	RedriveAction    = model.RedriveAction
	RedriveWave      = model.RedriveWave
	ItemState        = model.ItemState
	ItemCounts       = model.ItemCounts
	DestinationCheck = model.DestinationCheck

	ReplayState  = model.ReplayState
	ReplayCounts = model.ReplayCounts
	ReplayPart   = model.ReplayPart

	Strategy     = model.Strategy
	PolicySetter = model.PolicySetter
)

// The constants of these types.
const (
	KindLetter = model.KindLetter
	KindCase   = model.KindCase

	LetterOpen      = model.LetterOpen
	LetterScheduled = model.LetterScheduled
	LetterRedriving = model.LetterRedriving
	LetterRedriven  = model.LetterRedriven
	LetterDiscarded = model.LetterDiscarded

	Captured  = model.Captured
	Duplicate = model.Duplicate
	Returned  = model.Returned

	GroupOpen         = model.GroupOpen
	GroupAcknowledged = model.GroupAcknowledged
	GroupResolved     = model.GroupResolved
	GroupIgnored      = model.GroupIgnored

	OpRedrive = model.OpRedrive
	OpDiscard = model.OpDiscard
	OpRestore = model.OpRestore

	RedriveDraft     = model.RedriveDraft
	RedriveRunning   = model.RedriveRunning
	RedriveObserving = model.RedriveObserving
	RedrivePaused    = model.RedrivePaused
	RedriveHalted    = model.RedriveHalted
	RedriveDone      = model.RedriveDone
	RedriveCancelled = model.RedriveCancelled

	StartRedrive  = model.StartRedrive
	PauseRedrive  = model.PauseRedrive
	ResumeRedrive = model.ResumeRedrive
	CancelRedrive = model.CancelRedrive

	ItemPending   = model.ItemPending
	ItemSending   = model.ItemSending
	ItemUnknown   = model.ItemUnknown
	ItemSent      = model.ItemSent
	ItemReturned  = model.ItemReturned
	ItemCompleted = model.ItemCompleted
	ItemFailed    = model.ItemFailed
	ItemSkipped   = model.ItemSkipped

	ReplayDraft     = model.ReplayDraft
	ReplayRunning   = model.ReplayRunning
	ReplayPaused    = model.ReplayPaused
	ReplayFailed    = model.ReplayFailed
	ReplayDone      = model.ReplayDone
	ReplayCancelled = model.ReplayCancelled

	Manual      = model.Manual
	Immediate   = model.Immediate
	Fixed       = model.Fixed
	Exponential = model.Exponential
	Scheduled   = model.Scheduled

	SetByOperator      = model.SetByOperator
	SetByPreset        = model.SetByPreset
	SetByConfiguration = model.SetByConfiguration
	SetByEnvironment   = model.SetByEnvironment
	SetByDefault       = model.SetByDefault
)
