package deadletters

import "github.com/taskerhq/tasker/deadletters/model"

// The methods of these types are in package model.

type (
	// Kind is the kind of an item of the inbox.
	Kind = model.Kind
	// LetterState is the state of a letter.
	LetterState = model.LetterState
	// ReceiptStatus is the effect of capturing one message.
	ReceiptStatus = model.ReceiptStatus
	// Change is one difference between an original and its edited form.
	Change = model.Change
	// GroupState is the state of a group.
	GroupState = model.GroupState
	// Operation is the act of a redrive on its items.
	Operation = model.Operation
	// RedriveState is the state of a redrive.
	RedriveState = model.RedriveState
	// RedriveAction is the verb of an act on a redrive or a replay.
	RedriveAction = model.RedriveAction
	// RedriveWave counts the items of a wave by their states.
	RedriveWave = model.RedriveWave
	// ItemState is the result of one item of a redrive.
	ItemState = model.ItemState
	// ItemCounts counts the items of a redrive by their states.
	ItemCounts = model.ItemCounts
	// DestinationCheck reports whether letters can be sent to a destination.
	DestinationCheck = model.DestinationCheck
	// ReplayState is the state of a replay.
	ReplayState = model.ReplayState
	// ReplayCounts counts messages of a replay.
	ReplayCounts = model.ReplayCounts
	// ReplayPart is the range of one partition.
	ReplayPart = model.ReplayPart
	// Strategy is how a policy sends letters back.
	Strategy = model.Strategy
	// PolicySetter is the origin of a policy's settings.
	PolicySetter = model.PolicySetter
	// WebhookAnswer is a webhook's answer to a test event.
	WebhookAnswer = model.WebhookAnswer
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
