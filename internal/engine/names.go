package engine

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine/acts"
	"github.com/taskerhq/tasker/internal/engine/cases"
	"github.com/taskerhq/tasker/internal/engine/figures"
	"github.com/taskerhq/tasker/internal/engine/flow"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/engine/submit"
	"github.com/taskerhq/tasker/internal/model/task"
)

// The floors above know this package alone: its names are those of the rooms.

// The kernel: the rows of a store, and what the verbs take and give.

type (
	ActFilter           = kernel.ActFilter
	ActKind             = kernel.ActKind
	ActStore            = kernel.ActStore
	AlarmKind           = kernel.AlarmKind
	Analysis            = kernel.Analysis
	Answer              = kernel.Answer
	Beat                = kernel.Beat
	Binding             = kernel.Binding
	Blobs               = kernel.Blobs
	BurstStore          = kernel.BurstStore
	CaseCount           = kernel.CaseCount
	CaseCounter         = kernel.CaseCounter
	CaseFilter          = kernel.CaseFilter
	CaseOpened          = kernel.CaseOpened
	CaseReader          = kernel.CaseReader
	CaseResolved        = kernel.CaseResolved
	CaseRows            = kernel.CaseRows
	CaseStore           = kernel.CaseStore
	CheckpointStore     = kernel.CheckpointStore
	Child               = kernel.Child
	ChildFilter         = kernel.ChildFilter
	ChildMark           = kernel.ChildMark
	ChildReads          = kernel.ChildReads
	ChildRows           = kernel.ChildRows
	ChildStore          = kernel.ChildStore
	Claim               = kernel.Claim
	Cluster             = kernel.Cluster
	Commit              = kernel.Commit
	Database            = kernel.Database
	Detection           = kernel.Detection
	DispatchState       = kernel.DispatchState
	Dispatched          = kernel.Dispatched
	Dispatcher          = kernel.Dispatcher
	Ended               = kernel.Ended
	EventHooks          = kernel.EventHooks
	Evidence            = kernel.Evidence
	Evidences           = kernel.Evidences
	ExpiredDispatch     = kernel.ExpiredDispatch
	Expiry              = kernel.Expiry
	ExpiryStore         = kernel.ExpiryStore
	FailureCount        = kernel.FailureCount
	FailureReport       = kernel.FailureReport
	Family              = kernel.Family
	Gate                = kernel.Gate
	GateFilter          = kernel.GateFilter
	GateReads           = kernel.GateReads
	GateRoom            = kernel.GateRoom
	GateRows            = kernel.GateRows
	GateStore           = kernel.GateStore
	GateView            = kernel.GateView
	GivenUp             = kernel.GivenUp
	GroupRows           = kernel.GroupRows
	Grouper             = kernel.Grouper
	Guardian            = kernel.Guardian
	Handed              = kernel.Handed
	Handle              = kernel.Handle
	Hold                = kernel.Hold
	Holder              = kernel.Holder
	KeyAnswer           = kernel.KeyAnswer
	KeyAsk              = kernel.KeyAsk
	KeyName             = kernel.KeyName
	KeyStore            = kernel.KeyStore
	LargeContent        = kernel.LargeContent
	LargeResultStore    = kernel.LargeResultStore
	Lease               = kernel.Lease
	LeaseAnswer         = kernel.LeaseAnswer
	LeaseRef            = kernel.LeaseRef
	LeasedCount         = kernel.LeasedCount
	LimitRequest        = kernel.LimitRequest
	LogStore            = kernel.LogStore
	Measured            = kernel.Measured
	Names               = kernel.Names
	NoteStore           = kernel.NoteStore
	Observer            = kernel.Observer
	Offered             = kernel.Offered
	OperatorLimitFilter = kernel.OperatorLimitFilter
	OperatorLimitStore  = kernel.OperatorLimitStore
	OperatorLimitView   = kernel.OperatorLimitView
	Options             = kernel.Options
	OrderPlace          = kernel.OrderPlace
	OrderingKey         = kernel.OrderingKey
	OrderingStore       = kernel.OrderingStore
	OutageFilter        = kernel.OutageFilter
	OutageState         = kernel.OutageState
	OutageStore         = kernel.OutageStore
	Pass                = kernel.Pass
	PauseFilter         = kernel.PauseFilter
	PauseRequest        = kernel.PauseRequest
	PauseStore          = kernel.PauseStore
	PeerEvents          = kernel.PeerEvents
	Permit              = kernel.Permit
	Position            = kernel.Position
	Probe               = kernel.Probe
	Progress            = kernel.Progress
	Promoted            = kernel.Promoted
	PromotionRange      = kernel.PromotionRange
	QueueCounts         = kernel.QueueCounts
	QueuePlaces         = kernel.QueuePlaces
	QueueStore          = kernel.QueueStore
	ReadRoutes          = kernel.ReadRoutes
	ReadTasks           = kernel.ReadTasks
	ReadTemplates       = kernel.ReadTemplates
	Reader              = kernel.Reader
	ReadyStep           = kernel.ReadyStep
	Records             = kernel.Records
	Refusal             = kernel.Refusal
	Registration        = kernel.Registration
	Removal             = kernel.Removal
	Renewal             = kernel.Renewal
	Report              = kernel.Report
	Result              = kernel.Result
	ResultStatus        = kernel.ResultStatus
	RowCacher           = kernel.RowCacher
	SchemaChecker       = kernel.SchemaChecker
	Seals               = kernel.Seals
	Session             = kernel.Session
	SessionStore        = kernel.SessionStore
	SettingsKeeper      = kernel.SettingsKeeper
	Settled             = kernel.Settled
	SignalFilter        = kernel.SignalFilter
	SignalMark          = kernel.SignalMark
	SignalMatch         = kernel.SignalMatch
	SignalPosition      = kernel.SignalPosition
	SignalStore         = kernel.SignalStore
	Sized               = kernel.Sized
	Started             = kernel.Started
	StepAct             = kernel.StepAct
	StepMove            = kernel.StepMove
	Stop                = kernel.Stop
	Store               = kernel.Store
	TaskFilter          = kernel.TaskFilter
	TaskMove            = kernel.TaskMove
	TemplateFilter      = kernel.TemplateFilter
	TemplateName        = kernel.TemplateName
	TracedAttempt       = kernel.TracedAttempt
	Transition          = kernel.Transition
	Turn                = kernel.Turn
	Tx                  = kernel.Tx
	UniqueAsk           = kernel.UniqueAsk
	UniqueCounts        = kernel.UniqueCounts
	UniqueMove          = kernel.UniqueMove
	UniqueStore         = kernel.UniqueStore
	WaitFilter          = kernel.WaitFilter
	WaitPosition        = kernel.WaitPosition
	WaitReads           = kernel.WaitReads
	WaitStore           = kernel.WaitStore
	Waiting             = kernel.Waiting
	Watch               = kernel.Watch
	WatchMove           = kernel.WatchMove
	WatchStore          = kernel.WatchStore
	Work                = kernel.Work
	WorkerAct           = kernel.WorkerAct
	Writer              = kernel.Writer
)

// Package submit.

type (
	Pressure    = submit.Pressure
	Receipt     = submit.Receipt
	Submission  = submit.Submission
	UniqueMatch = submit.UniqueMatch
)

// Package cases.

type (
	CaseRequest     = cases.CaseRequest
	Detected        = cases.Detected
	DetectionAction = cases.DetectionAction
	FailedTask      = cases.FailedTask
	Investigations  = cases.Investigations
	Staleness       = cases.Staleness
	StalenessFilter = cases.StalenessFilter
)

// Package acts.

type (
	Bulk         = acts.Bulk
	BulkResult   = acts.BulkResult
	Cancellation = acts.Cancellation
	ContextEdit  = acts.ContextEdit
	ContextNote  = acts.ContextNote
	Replay       = acts.Replay
)

// Package flow.

type (
	SignalRequest = flow.SignalRequest
)

// Package figures.

type (
	Census        = figures.Census
	Percentiles   = figures.Percentiles
	QueueCensus   = figures.QueueCensus
	QueuePlace    = figures.QueuePlace
	QueueStats    = figures.QueueStats
	ReadyCount    = figures.ReadyCount
	RouteCensus   = figures.RouteCensus
	RouteStats    = figures.RouteStats
	Spread        = figures.Spread
	TemplateStats = figures.TemplateStats
)

// Package kernel.

const (
	Anonymous        = kernel.Anonymous
	ApproveStep      = kernel.ApproveStep
	Cancelled        = kernel.Cancelled
	CaseWindow       = kernel.CaseWindow
	CompleteManually = kernel.CompleteManually
	DefaultNamespace = kernel.DefaultNamespace
	FailedHeartbeat  = kernel.FailedHeartbeat
	FailedProbe      = kernel.FailedProbe
	Held             = kernel.Held
	Lost             = kernel.Lost
	ManyReplayable   = kernel.ManyReplayable
	NewFingerprint   = kernel.NewFingerprint
	NoReason         = kernel.NoReason
	OutageClosed     = kernel.OutageClosed
	OutageOpen       = kernel.OutageOpen
	OverBurst        = kernel.OverBurst
	OverSoft         = kernel.OverSoft
	OverSustained    = kernel.OverSustained
	Overloaded       = kernel.Overloaded
	RejectStep       = kernel.RejectStep
	ReportInterval   = kernel.ReportInterval
	ResetForRetry    = kernel.ResetForRetry
	ResolveManually  = kernel.ResolveManually
	ResultCompleted  = kernel.ResultCompleted
	ResultFailed     = kernel.ResultFailed
	ResultReleased   = kernel.ResultReleased
	ResultSnoozed    = kernel.ResultSnoozed
	SmallDocument    = kernel.SmallDocument
	SteppedNote      = kernel.SteppedNote
	System           = kernel.System
	TurnsCounted     = kernel.TurnsCounted
	UniqueReplaced   = kernel.UniqueReplaced
	UniqueSuperseded = kernel.UniqueSuperseded
)

// Package cases.

const (
	ErroredOnly      = cases.ErroredOnly
	MovedAndErrored  = cases.MovedAndErrored
	MovedOnly        = cases.MovedOnly
	TransitionFailed = cases.TransitionFailed
)

// Package kernel.

var (
	AlarmKinds      = kernel.AlarmKinds
	CaseReasons     = kernel.CaseReasons
	ErrDispatchLost = kernel.ErrDispatchLost
	ErrFull         = kernel.ErrFull
	ErrReplaced     = kernel.ErrReplaced
	Refusals        = kernel.Refusals
	UniqueOutcomes  = kernel.UniqueOutcomes
)

// Package submit.

var (
	ErrKeyLocked = submit.ErrKeyLocked
)

// KeyOf returns the name of the request's API key, or "".
func KeyOf(ctx context.Context) string { return kernel.KeyOf(ctx) }

// ActorOf returns the claimed actor, else the key's holder, else Anonymous.
func ActorOf(ctx context.Context, claimed string) string { return kernel.ActorOf(ctx, claimed) }

// CheckActor returns the problems of an actor and a reason, at "/actor" and "/reason".
func CheckActor(actor, reason string) []task.Problem { return kernel.CheckActor(actor, reason) }

// SignAct puts the name of the API key into an act.
func SignAct(a *task.Act, key string) { kernel.SignAct(a, key) }

// Storable returns nil if anything can be stored: then a row that failed alone is at fault.
func Storable(ctx context.Context, db Writer, why error) error { return kernel.Storable(ctx, db, why) }
