package task

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Expectation is an operator's view of an object before an act. The zero value allows every act.
type Expectation struct {
	State    string   // the expected state; "" for any
	Versions []string // any of these; none for any
}

// Seen is an object's condition at the beginning of an act.
type Seen struct {
	What    string
	ID      ID
	State   string
	Version string
	Since   Instant
}

// Check returns Conflict if the object has changed since the operator saw it.
func (x Expectation) Check(now Seen) error {
	var was string
	switch {
	case x.State != "" && x.State != now.State:
		was = ", not " + x.State + " as expected"
	case len(x.Versions) > 0 && !slices.Contains(x.Versions, now.Version):
		was = ", and has moved since it was read"
	default:
		return nil
	}
	e := Errorf(Conflict, "the %s %s is %s%s", now.What, now.ID, now.State, was)
	if now.Since != 0 {
		e.Message += ": it last moved at " + now.Since.Time().Format(time.RFC3339Nano)
	}
	e.Hint = "nothing was changed: look at it again, then decide"
	return e
}

const (
	maxMatch = 1024
	anyMatch = "*"
)

// Match reads If-Match: versions with or without quotes, separated by commas, or * for any. fault is "" for none.
func (x *Expectation) Match(list string) (fault string) {
	if len(list) > maxMatch {
		return "is " + strconv.Itoa(len(list)) + " bytes long; the limit is " + strconv.Itoa(maxMatch)
	}
	if list == "" || strings.TrimSpace(list) == anyMatch {
		return ""
	}
	for v := range strings.SplitSeq(list, ",") {
		v = strings.TrimPrefix(strings.TrimSpace(v), "W/") // a proxy may have weakened it
		if len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' {
			v = v[1 : len(v)-1]
		}
		if v == "" || strings.Trim(v, versionLetters) != "" {
			return "must be the etag of an answer, several of them separated by commas, or *"
		}
		x.Versions = append(x.Versions, v)
	}
	return ""
}

// NoVersion matches no object.
const NoVersion = -1

// MatchOne reads If-Match for numeric versions; 0 is any. An impossible ETag is NoVersion, so the act is refused with
// Conflict like any old ETag. fault is "" for none.
func MatchOne(value string) (version int64, fault string) {
	var x Expectation
	if fault = x.Match(value); fault != "" {
		return 0, fault
	}
	switch len(x.Versions) {
	case 0:
		return 0, ""
	case 1:
		if v, err := strconv.ParseInt(x.Versions[0], 10, 64); err == nil && v > 0 {
			return v, ""
		}
		return NoVersion, ""
	default:
		return 0, "must be one ETag, or *"
	}
}

const versionLetters = "abcdefghijklmnopqrstuvwxyz0123456789_-"

// versionOf adds a short hash of the numbers that change with every transition.
func versionOf(state string, numbers ...int64) string {
	h := fnv.New64a()
	var b [8]byte
	for _, n := range numbers {
		binary.LittleEndian.PutUint64(b[:], uint64(n))
		_, _ = h.Write(b[:])
	}
	return state + "-" + strconv.FormatUint(h.Sum64(), 36)
}

// Seen changes with the task's state, progress, priority, replays and context, not with every transition of its
// steps.
func (t *Task) Seen() Seen {
	return Seen{What: "task", ID: t.ID, State: string(t.State), Since: t.StateAt,
		Version: versionOf(string(t.State), int64(t.StateAt), int64(t.FinishedAt), int64(t.Priority), int64(t.Meta.Replays),
			int64(t.Meta.ContextEdits), int64(t.DeadlineAt))}
}

// Seen changes with the step's state, attempts and leases, without revealing a lease's token.
func (s *Step) Seen() Seen {
	moves := []Instant{s.ReadyAt, s.AssignedAt, s.StartedAt, s.FinishedAt}
	return Seen{What: "step", ID: s.ID, State: string(s.State), Since: slices.Max(moves),
		Version: versionOf(string(s.State), int64(s.ReadyAt), int64(s.AssignedAt), int64(s.StartedAt), int64(s.FinishedAt),
			int64(s.Attempts), int64(s.MaxAttempts), int64(s.Priority))}
}

// Seen changes with every change of the case.
func (c *Case) Seen() Seen {
	h := fnv.New64a()
	_, _ = h.Write([]byte(c.Notes))
	_, _ = h.Write(c.Metadata)
	return Seen{What: "case", ID: c.ID, State: string(c.Status), Since: c.UpdatedAt, Version: versionOf(string(c.Status),
		int64(c.UpdatedAt), int64(c.ResolvedAt), int64(c.Occurrences), int64(c.NoteCount), int64(h.Sum64()))}
}
