package inbox

import (
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// By says who acts and why. It is part of every request that changes something.
type By struct {
	Actor   string // "" means the holder of the request's key, or anonymous
	Reason  string // DiscardLetter requires it
	Version int64  // that the caller has read; 0: any. Another one refuses the act with Conflict.
	key     string // name of the request's API key, once it is signed; "" for a server without keys, and for a loop
}

// Report is a failure that a program reports.
type Report struct {
	// MessageID is the program's identifier of the message. A report of the same source that is equal to an earlier one,
	// the identifier included, is a repetition and changes nothing. Without an identifier it is always another one.
	MessageID string
	// Origin is where the consumer took the message from; "" if that is not known. For a report over HTTP it is a
	// claim: letters are only sent there if the source lists it as a target.
	Origin   string
	Handler  string
	Content  deadletter.Content // as the consumer got it
	Failure  failure.Report     // cut with a mark when it is captured, as is Stack
	Stack    string
	Details  []deadletter.Detail // what else the message told; see format.Decoded
	Attempts int                 // of the consumer; 0: not known
	FailedAt task.Instant        // 0: now
	FirstAt  task.Instant        // when it failed first; 0, or a later time: when it failed
	Letter   task.ID             // that was sent back as this message, by its header tasker-letter; zero for none
}

// Receipt is the answer to one captured message: its letter, and the group of its failure.
type Receipt struct {
	Letter task.ID
	Group  deadletter.GroupID
	Status model.ReceiptStatus
}

// LetterStory is a letter with its history.
type LetterStory struct {
	Letter      *deadletter.Letter
	Occurrences []deadletter.Occurrence // the latest first
	Group       *deadletter.Group
}

// GroupStory is a group with all that is known of it. The counts of Group include those of Merged.
type GroupStory struct {
	Group  *deadletter.Group
	Merged []*deadletter.Group // that are merged into it
	Notes  []deadletter.Note   // the latest first
	Hours  []deadletter.Hour   // of 14 days, with the merged ones
	Sample *deadletter.Letter  // a recent one; nil where the group has only cases
	Why    []failure.Part      // what its failures have in common
}

// GroupPage is a page of groups.
type GroupPage struct {
	Groups   []*deadletter.Group
	Hours    map[deadletter.GroupID][]deadletter.Hour // of the last 24 hours
	Resolved deadletter.Resolutions                   // of all groups of the namespace
	Next     string                                   // cursor; "" at the end
}

// GroupChange changes a group; nil fields keep what is. Several changes are one act.
type GroupChange struct {
	By
	State      model.GroupState  // "" keeps it
	ResolvedIn string            // with GroupResolved
	Ignore     deadletter.Ignore // with GroupIgnored
	Owner      *string
	Runbook    *string
	DueAt      *task.Instant
	Note       string // to add to the thread
}

// GroupsChange changes many groups alike. Either Groups or Filter is given.
type GroupsChange struct {
	GroupChange
	Groups []deadletter.GroupID
	Filter *GroupFilter // without order, limit and place
	DryRun bool         // only tell which groups would be changed
}

// GroupResult is what became of one group of a GroupsChange.
type GroupResult struct {
	ID    deadletter.GroupID
	Group *deadletter.Group // as stored; nil with Err, and of a dry run as it is
	Err   *task.Error       // why it was not changed
}

// LetterEdit changes what is sent instead of a letter's original.
type LetterEdit struct {
	By
	Edit  deadletter.Edit // ignored with Clear
	Clear bool            // go back to the original
}

// RedriveRequest describes an operation on many. The selection must name a namespace, unless the key has only one or
// the namespace follows from the first group or letter that it names.
type RedriveRequest struct {
	By
	Operation   model.Operation
	Selection   deadletter.Selection
	Destination string // "" sends each letter to its origin
	Edit        *deadletter.Edit
	// Zero fields of Plan and Stop take the defaults.
	Plan          deadletter.Plan
	Stop          deadletter.StopRule
	IncludeParked bool
	EachItem      bool // letters that cannot be sent fail one by one; otherwise they refuse the whole operation
	Start         bool // begin at once; otherwise it is a draft
}

// Preview is what an operation would do. Nothing is stored.
type Preview struct {
	Total        int           // letters and cases, without parked letters that would be left out
	Capped       bool          // there are more
	Samples      []PreviewItem // up to ten
	Destinations []model.DestinationCheck
	Problems     []task.Problem // would refuse the operation; empty when it could start
	// Plan and Stop have their defaults.
	Plan  deadletter.Plan
	Stop  deadletter.StopRule
	empty bool // nothing is wrong with the request but that it selects nothing, which is one of Problems, too
}

// PreviewItem is one sample of a preview.
type PreviewItem struct {
	Kind        model.Kind
	ID          task.ID
	Destination string
	Changes     []model.Change
	Problem     string // why the edit does not apply to it; "" otherwise
}

// Oversized sums up the messages of a source that stay on its broker because they are too large.
type Oversized struct {
	Messages int
	First    string // position of the one that was found first; a hash where the broker has no positions
	Largest  int    // bytes
	Since    task.Instant
}

// SourceStatus is a source and how it stands.
type SourceStatus struct {
	Source *deadletter.Source
	State  string // reading, paused, waiting (for a turn, or for room), or lost
	Error  string // the last one; "" for none
	Since  task.Instant
	// Open are the open letters, up to 10,000, or up to max_open if that is more, and at most 100,000. OpenCapped: there
	// are more.
	Open       int
	OpenCapped bool
	Waiting    int64 // messages on the broker, -1 where that is not known; of Inbox.Source
	Oversized  Oversized
	Preview    []IntakePreview      // what the first messages would become; of TestSource and a source with an intake
	Policies   []*deadletter.Policy // that decide about its letters, that for all other origins last; of Inbox.Source
}
