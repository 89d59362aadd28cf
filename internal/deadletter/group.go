package deadletter

import (
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/failure"
	"github.com/taskerhq/tasker/internal/task"
)

// GroupID identifies a group. It follows from the namespace and the fingerprint alone, so that every process finds the
// same without asking; 0 is no group.
type GroupID int64

// Ignore bounds how long a group is ignored; zero fields do not. Whichever is reached first opens the group again.
type Ignore struct {
	Until task.Instant
	// Count is a number of failures since the group was ignored.
	Count int64
	// PerHour is a number of failures within one clock hour.
	PerHour int64
}

// Group is everything with one fingerprint.
type Group struct {
	ID        GroupID
	Namespace string
	Print     failure.Print
	Title     string

	State      model.GroupState
	StateAt    task.Instant
	ResolvedIn string // the version that is said to fix it
	Ignore     Ignore
	// IgnoredFrom is the number of failures at the time when it was ignored.
	IgnoredFrom int64
	Regression  bool // it was resolved, and has failed since
	Regressions int
	ResolvedAt  task.Instant // last time
	// OpenFor is how long it was unresolved in all, in microseconds, and Resolutions how often it was resolved.
	OpenFor     int64
	Resolutions int
	OpenedAt    task.Instant // when it was opened last

	Owner   string
	Runbook string // URL
	DueAt   task.Instant
	// MergedInto is the group that shows this one's failures as its own; 0: none.
	MergedInto GroupID
	// Before is the group that had these failures by the rules of the version before; 0: none. A new group takes over
	// what was decided about it. It is not stored.
	Before GroupID

	ToldAt  task.Instant // when its first failure was noticed; 0: it was not yet
	BurstAt task.Instant // of the last burst

	FirstAt, LastAt task.Instant
	Failures        int64 // in all
	// Shown are the failures of the groups that are merged into it. They are not part of its row: who decides about a
	// group that is ignored up to a number of failures sets them before.
	Shown       int64
	OpenLetters int64 // open or scheduled now
	OpenCases   int64 // pending now

	Notes   int
	Version int64
}

// Note is an entry in the thread of a group. Entries are added and never changed. They are kept as long as the group,
// also after its letters and cases are deleted.
type Note struct {
	Group  GroupID
	No     int
	At     task.Instant
	Author string
	Key    string // name of the API key
	Kind   string // note, or the act that it reports: acknowledge, resolve, merge and so on
	Text   string
}

// Hour counts the failures of one clock hour.
type Hour struct {
	At       task.Instant // its beginning
	Failures int64
}

// Resolutions are how often groups were resolved, and for how long they had been unresolved in all, in microseconds.
type Resolutions struct {
	Times   int64
	OpenFor int64
}

// Mean is the mean time to resolve; 0 if nothing was resolved.
func (r Resolutions) Mean() time.Duration {
	if r.Times == 0 {
		return 0
	}
	return time.Duration(r.OpenFor/r.Times) * time.Microsecond
}

// Delta is a change of the counts of a group. Transactions add deltas, which never conflict; a loop adds them up.
type Delta struct {
	Group       GroupID
	Failures    int64
	OpenLetters int64
	OpenCases   int64
	At          task.Instant // of the latest failure
}
