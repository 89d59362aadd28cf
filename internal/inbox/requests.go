package inbox

import (
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// By is the actor of a request that changes something, and the reason.
type By struct {
	Actor   string // "": the holder of the request's key, or anonymous
	Reason  string
	Version int64  // that the caller has read; 0: any. For another one the act fails with Conflict.
	key     string // name of the request's API key, once signed; "" without keys and for loops
}

// Report is a failure that a program reports.
type Report struct {
	// MessageID is the program's identifier of the message. A report that equals an earlier one of its source, with the
	// same identifier, changes nothing. Without an identifier it is always new.
	MessageID string
	// Origin is where the consumer took the message from; "" if unknown. For a report over HTTP it is a claim: letters
	// are only sent there if the source lists it as a target.
	Origin   string
	Handler  string
	Content  deadletter.Content // as the consumer got it
	Failure  failure.Report     // cut with a mark at its capture, as is Stack
	Stack    string
	Details  []deadletter.Detail
	Attempts int          // of the consumer; 0: unknown
	FailedAt task.Instant // 0: now
	FirstAt  task.Instant // of the first failure; 0, or a later time: FailedAt
	Letter   task.ID      // from its header tasker-letter; zero for none
}

// Receipt is the answer to a captured message: its letter, and the group of its failure.
type Receipt struct {
	Letter task.ID
	Group  deadletter.GroupID
	Status model.ReceiptStatus
}

// LetterStory is a letter with its history.
type LetterStory struct {
	Letter      *deadletter.Letter
	Occurrences []deadletter.Occurrence
	Group       *deadletter.Group
}

// GroupStory is a group with its history. The counts of Group include those of Merged.
type GroupStory struct {
	Group  *deadletter.Group
	Merged []*deadletter.Group
	Notes  []deadletter.Note
	Hours  []deadletter.Hour  // of 14 days, with the merged ones
	Sample *deadletter.Letter // a recent one; nil if the group has only cases
	Why    []failure.Part
}

// GroupPage is a page of groups.
type GroupPage struct {
	Groups   []*deadletter.Group
	Hours    map[deadletter.GroupID][]deadletter.Hour // of the last 24 hours
	Resolved deadletter.Resolutions
	Next     string
}

// GroupChange changes a group in one act; nil fields keep the value.
type GroupChange struct {
	By
	State      model.GroupState
	ResolvedIn string
	Ignore     deadletter.Ignore
	Owner      *string
	Runbook    *string
	DueAt      *task.Instant
	Note       string
}

// GroupsChange changes many groups alike: Groups, or those of Filter.
type GroupsChange struct {
	GroupChange
	Groups []deadletter.GroupID
	Filter *GroupFilter // without order, limit and place
	DryRun bool         // only list the groups
}

// GroupResult is the result of a GroupsChange for one group.
type GroupResult struct {
	ID    deadletter.GroupID
	Group *deadletter.Group // as stored; nil with Err, unchanged in a dry run
	Err   *task.Error       // why it was not changed
}

// LetterEdit changes what is sent instead of a letter's original.
type LetterEdit struct {
	By
	Edit  deadletter.Edit
	Clear bool
}

// RedriveRequest describes an operation on many. Its selection must name a namespace, unless the key has only one or
// the first named group or letter implies it.
type RedriveRequest struct {
	By
	Operation   model.Operation
	Selection   deadletter.Selection
	Destination string // "": each letter's origin
	Edit        *deadletter.Edit
	// Zero fields of Plan and Stop take the defaults.
	Plan          deadletter.Plan
	Stop          deadletter.StopRule
	IncludeParked bool
	EachItem      bool // letters that cannot be sent fail one by one; otherwise they refuse the operation
	Start         bool // begin immediately; otherwise it is a draft
}

// Preview is the effect of an operation. Nothing is stored.
type Preview struct {
	Total        int // letters and cases, without excluded parked letters
	Capped       bool
	Samples      []PreviewItem
	Destinations []model.DestinationCheck
	Problems     []task.Problem
	Plan         deadletter.Plan
	Stop         deadletter.StopRule
	empty        bool // the only problem is the empty selection, which is also in Problems
}

// PreviewItem is one sample of a preview.
type PreviewItem struct {
	Kind        model.Kind
	ID          task.ID
	Destination string
	Changes     []model.Change
	Problem     string // why the edit does not apply; "" if it does
}

// Oversized sums up messages left on the broker because they are too large.
type Oversized struct {
	Messages int
	First    string // position of the oldest; a hash where the broker has no positions
	Largest  int    // bytes
	Since    task.Instant
}

// SourceStatus is a source with its state.
type SourceStatus struct {
	Source *deadletter.Source
	State  string // reading, paused, waiting (for a turn, or for room), or lost
	Error  string // the last one; "" for none
	Since  task.Instant
	// Open counts open letters, up to 10,000, or up to max_open if that is more, and at most 100,000. OpenCapped: there
	// are more.
	Open       int
	OpenCapped bool
	Waiting    int64 // on the broker, -1 if unknown; only Inbox.Source sets it
	Oversized  Oversized
	Preview    []IntakePreview      // what the first messages would become; only TestSource sets it, with an intake
	Policies   []*deadletter.Policy // that for all other origins last; only Inbox.Source sets it
}
