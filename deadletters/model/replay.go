package model

// ReplayState is the state of a replay.
type ReplayState string

// The states of replays.
const (
	ReplayDraft     ReplayState = "draft" // planned, not started
	ReplayRunning   ReplayState = "running"
	ReplayPaused    ReplayState = "paused" // by an operator
	ReplayFailed    ReplayState = "failed" // it cannot go on until somebody acts; resume tries again
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
