package deadletter

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// GroupID follows from namespace and fingerprint alone, so every process computes the same ID. 0 is none.
type GroupID int64

// Ignore bounds how long a group is ignored. The first bound opens the group; zero fields set none.
type Ignore struct {
	Until   task.Instant
	Count   int64
	PerHour int64
}

// Group is everything with one fingerprint.
type Group struct {
	ID        GroupID
	Namespace string
	Print     failure.Print
	Title     string

	State       model.GroupState
	StateAt     task.Instant
	ResolvedIn  string
	Ignore      Ignore
	IgnoredFrom int64
	Regression  bool
	Regressions int
	ResolvedAt  task.Instant
	// OpenFor is the total unresolved time in microseconds.
	OpenFor     int64
	Resolutions int
	OpenedAt    task.Instant

	Owner   string
	Runbook string
	DueAt   task.Instant
	// MergedInto is the group that counts this one's failures as its own; 0: none.
	MergedInto GroupID
	// Before is the group by the previous version of the rules; 0: none. A new group inherits its decisions. It is
	// not stored.
	Before GroupID

	ToldAt  task.Instant // when its first failure was reported; 0: not yet
	BurstAt task.Instant

	FirstAt, LastAt task.Instant
	Failures        int64
	// Shown are the failures of groups merged into it. They are not in its row: set them before a decision about a
	// group that is ignored up to a count.
	Shown       int64
	OpenLetters int64
	OpenCases   int64

	Notes   int
	Version int64
}

// Note is an immutable entry in the thread of a group, kept as long as the group.
type Note struct {
	Group  GroupID
	No     int
	At     task.Instant
	Author string
	Key    string
	Kind   string // note, or an act: acknowledge, resolve, merge and so on
	Text   string
}

// Hour counts the failures of one clock hour.
type Hour struct {
	At       task.Instant
	Failures int64
}

// Resolutions counts resolutions and the total unresolved time before them, in microseconds.
type Resolutions struct {
	Times   int64
	OpenFor int64
}

// Mean is 0 without resolutions.
func (r Resolutions) Mean() time.Duration {
	if r.Times == 0 {
		return 0
	}
	return time.Duration(r.OpenFor/r.Times) * time.Microsecond
}

// Delta is a change of a group's counts. Transactions add deltas, which never conflict; a loop sums them.
type Delta struct {
	Group       GroupID
	Failures    int64
	OpenLetters int64
	OpenCases   int64
	At          task.Instant
}

// GroupOf is the same in every process.
func GroupOf(namespace string, p failure.Print) GroupID { return groupOfKey(namespace, p.Key()) }

// GroupBefore is the group by the previous version of the rules; 0: the same group.
func GroupBefore(namespace string, p failure.Print) GroupID {
	if p.Before == "" {
		return 0
	}
	return groupOfKey(namespace, p.Before)
}

func groupOfKey(namespace, key string) GroupID {
	h := sha256.New()
	var length [8]byte
	// The length separates namespace and key.
	h.Write(binary.BigEndian.AppendUint64(length[:0], uint64(len(namespace))))
	h.Write([]byte(namespace))
	h.Write([]byte(key))
	var sum [sha256.Size]byte
	id := GroupID(binary.BigEndian.Uint64(h.Sum(sum[:0])) >> 1)
	return max(id, 1)
}

func (id GroupID) String() string { return fmt.Sprintf("%016x", uint64(id)) }

// ParseGroupID reads the form of GroupID.String: 16 lower-case hexadecimal digits, not all 0.
func ParseGroupID(s string) (GroupID, error) {
	n, err := strconv.ParseInt(s, 16, 64)
	if id := GroupID(n); err == nil && n > 0 && id.String() == s {
		return id, nil
	}
	return 0, fmt.Errorf("%q is not the ID of a group: it has 16 hexadecimal digits in lower case, the first 0 to 7",
		bounded(s))
}

func bounded(s string) string { return failure.Cut(s[:min(len(s), 200)], 64) }

// PrintOfCase returns the fingerprint of a case's latest occurrence: of the failure that blocks its task, else of the
// reason. handler belongs to the failed step, template names the task's; unknown values are "".
func PrintOfCase(c *task.Case, handler, template, stack string) failure.Print {
	where := cmp.Or(handler, template)
	if c.Fingerprint == "" && c.Message == "" {
		return failure.PrintOf(failure.Report{Type: string(c.Reason)}, "", where)
	}
	return failure.PrintOfKind(c.Fingerprint, c.Message, stack, where)
}

// GroupOfCase returns a new, open group with counts and version 0.
func GroupOfCase(namespace string, c *task.Case, print failure.Print) *Group {
	g := NewGroup(namespace, print, c.OccurredAt)
	g.FirstAt, g.Version = c.OpenedAt, 0
	return g
}

// Tally collects the groups and count changes of a transaction. Its rows are only inserted, ordered by group, so
// transactions in one group do not wait for each other. The zero value is empty. It is not safe for concurrent use.
type Tally struct {
	groups map[GroupID]*Group
	deltas map[GroupID]*Delta
}

// Join adds a group once, and returns the tally's copy.
func (t *Tally) Join(g *Group) *Group {
	return join(&t.groups, g.ID, g)
}

// Of returns the mutable change of a group's counts.
func (t *Tally) Of(id GroupID) *Delta { return join(&t.deltas, id, &Delta{Group: id}) }

func join[T any](list *map[GroupID]*T, id GroupID, v *T) *T {
	if known := (*list)[id]; known != nil {
		return known
	}
	if *list == nil {
		*list = map[GroupID]*T{}
	}
	(*list)[id] = v
	return v
}

// Groups returns the groups that joined.
func (t *Tally) Groups() []*Group {
	list := make([]*Group, 0, len(t.groups))
	for _, id := range slices.Sorted(maps.Keys(t.groups)) {
		list = append(list, t.groups[id])
	}
	return list
}

// Deltas omits empty changes.
func (t *Tally) Deltas() []Delta {
	list := make([]Delta, 0, len(t.deltas))
	for _, id := range slices.Sorted(maps.Keys(t.deltas)) {
		if d := *t.deltas[id]; d.Failures != 0 || d.OpenLetters != 0 || d.OpenCases != 0 {
			list = append(list, d)
		}
	}
	return list
}
