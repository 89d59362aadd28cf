package deadletter

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// ReplayInto is the target of a replay.
type ReplayInto string

// The targets of a replay.
const (
	ReplayIntoInbox ReplayInto = "inbox"
	ReplayIntoTasks ReplayInto = "tasks"
)

// The bounds of replays.
const (
	MaxReplayParts   = 10_000
	MaxReplayHeaders = 8
	MaxReplayRate    = 1_000_000
	minReplayRate    = 0.001
	maxReplayMatch   = 1024 // bytes of a key or a header that is compared
)

// ReplaySpec is an operator's request for a replay.
type ReplaySpec struct {
	// Topic is a log of the source's broker: its queue, or an allowed target.
	Topic  string
	Into   ReplayInto
	Intake *Intake `json:",omitempty"`
	// Repeat makes tasks again from messages that already have some, once for each name. "" makes none.
	Repeat string `json:",omitempty"`
	// Since and Before bound each part: from the first message not older than Since to the first not older than
	// Before.
	Since, Before task.Instant
	// FromOffset and ToOffset bound the offsets, ToOffset excluded. nil: no bound.
	FromOffset, ToOffset *int64
	Partitions           []int32
	// Key selects messages with that key; nil: all. Headers selects messages with all of these.
	Key     *string  `json:",omitempty"`
	Headers []Header `json:",omitempty"`
	Rate    float64
}

// ReplayProgress is the progress of a replay.
type ReplayProgress struct {
	Parts              []model.ReplayPart
	Counts             model.ReplayCounts
	Why                string
	RetryAt            task.Instant
	PacedAt            task.Instant
	StateAt            task.Instant
	StartedAt, EndedAt task.Instant
}

// Replay reads a range of a topic again. Each message becomes a letter or a task once: one transaction stores them
// with the position of the partition.
type Replay struct {
	ID                 task.ID
	Namespace, Source  string
	State              model.ReplayState
	Spec               ReplaySpec
	Progress           ReplayProgress
	Actor, Key, Reason string
	CreatedAt          task.Instant
	PurgeAt            task.Instant
	Version            int64
}

// Move changes the state; act is the past participle for the refusal.
func (r *Replay) Move(to model.ReplayState, now task.Instant, act string) error {
	if !slices.Contains(r.State.Next(), to) {
		return refused("replay", r.ID, r.State, act)
	}
	r.State, r.Progress.StateAt, r.Progress.Why = to, now, ""
	switch {
	case to.Ended():
		r.Progress.EndedAt, r.PurgeAt = now, now.Add(Retention)
	case to == model.ReplayRunning && r.Progress.StartedAt == 0:
		r.Progress.StartedAt = now
	}
	r.Version++
	return nil
}

// Fail stops the work until an operator resumes it; why is a sentence.
func (r *Replay) Fail(why string, now task.Instant) error {
	err := r.Move(model.ReplayFailed, now, "failed")
	if err == nil {
		r.Progress.Why = failure.Cut(why, MaxCause)
	}
	return err
}

// NextPart returns the part with the smallest share read, -1 at the end.
func (r *Replay) NextPart() int {
	best, least := -1, 0.0
	for i, p := range r.Progress.Parts {
		if p.Next >= p.To {
			continue
		}
		if share := float64(p.Next-p.From) / float64(p.To-p.From); best < 0 || share < least {
			best, least = i, share
		}
	}
	return best
}

// Left is the number of unread offsets, some of which may hold no message.
func (r *Replay) Left() (n int64) {
	for _, p := range r.Progress.Parts {
		n += p.To - p.Next
	}
	return n
}

// Allowed is how many messages may be taken now, up to most.
func (r *Replay) Allowed(now task.Instant, most int) int {
	if r.Spec.Rate <= 0 {
		return most
	}
	n := now.Sub(r.paced(now)).Seconds()*r.Spec.Rate + 1e-6 // compensates rounding
	return int(min(max(n, 0), float64(most)))
}

// paced limits catching up to a second, or to the time of one message.
func (r *Replay) paced(now task.Instant) task.Instant {
	return max(r.Progress.PacedAt, now.Add(-time.Duration(max(1, 1/r.Spec.Rate)*float64(time.Second))))
}

// Took counts messages against the rate.
func (r *Replay) Took(n int, now task.Instant) {
	if r.Spec.Rate > 0 {
		r.Progress.PacedAt = r.paced(now).Add(time.Duration(float64(n) / r.Spec.Rate * float64(time.Second)))
	}
}

// Selects reports whether a message has the key and the headers.
func (s *ReplaySpec) Selects(key []byte, headers []Header) bool {
	if s.Key != nil && (key == nil || string(key) != *s.Key) {
		return false
	}
	for _, want := range s.Headers {
		if !slices.ContainsFunc(headers, func(h Header) bool {
			return h.Name == want.Name && bytes.Equal(h.Value, want.Value)
		}) {
			return false
		}
	}
	return true
}

// Freeze bounds the parts of a log by offsets and partitions.
func (s *ReplaySpec) Freeze(parts []model.ReplayPart) (frozen []model.ReplayPart) {
	for _, p := range parts {
		if len(s.Partitions) > 0 && !slices.Contains(s.Partitions, p.Partition) {
			continue
		}
		if s.FromOffset != nil {
			p.From = max(p.From, *s.FromOffset)
		}
		if s.ToOffset != nil {
			p.To = min(p.To, *s.ToOffset)
		}
		if p.Next = p.From; p.From < p.To {
			frozen = append(frozen, p)
		}
	}
	return frozen
}

// Validate locates the problems of a replay at JSON pointers.
func (s *ReplaySpec) Validate(of *Source) []task.Problem {
	var p problems
	p.name("/topic", s.Topic)
	p.when(s.Topic != of.Queue && !of.Allows(s.Topic, of.Queue), "/topic",
		"is neither the queue of the source nor among its targets")
	p.when(s.Into == "", "/into", "must not be empty")
	p.oneOf("/into", string(s.Into), string(ReplayIntoInbox), string(ReplayIntoTasks))
	switch {
	case s.Into == ReplayIntoTasks && s.Intake == nil:
		p.when(of.Intake == nil, "/intake", "is missing: the source has none")
	case s.Intake != nil:
		p.when(s.Into == ReplayIntoInbox, "/intake", "goes with tasks only")
		s.Intake.validate(&Source{Queue: s.Topic}, &p)
		p.when(s.Intake.WriteFailures != "", "/intake/on_failure/write", "goes with the intake of a source only")
	}
	p.text("/repeat", s.Repeat, task.MaxName)
	p.when(s.Repeat != "" && s.Into == ReplayIntoInbox, "/repeat", "goes with tasks only")
	p.time("/since", s.Since)
	p.time("/before", s.Before)
	p.when(s.Before != 0 && s.Before <= s.Since, "/before", "must be after since")
	for at, offset := range map[string]*int64{"/from_offset": s.FromOffset, "/to_offset": s.ToOffset} {
		p.when(offset != nil && *offset < 0, at, "must not be negative")
	}
	p.when(s.FromOffset != nil && s.ToOffset != nil && *s.ToOffset <= *s.FromOffset, "/to_offset",
		"must be greater than from_offset")
	p.entries("/partitions", len(s.Partitions), MaxReplayParts)
	for i, n := range s.Partitions {
		p.when(n < 0, fmt.Sprintf("/partitions/%d", i), "must not be negative")
	}
	if s.Key != nil {
		p.text("/key", *s.Key, maxReplayMatch)
	}
	p.entries("/headers", len(s.Headers), MaxReplayHeaders)
	for i, h := range s.Headers {
		p.name(fmt.Sprintf("/headers/%d/name", i), h.Name)
		p.when(len(h.Value) > maxReplayMatch, fmt.Sprintf("/headers/%d/value", i),
			fmt.Sprintf("is longer than %d bytes", maxReplayMatch))
	}
	p.when(s.Rate != 0 && !(minReplayRate <= s.Rate && s.Rate <= MaxReplayRate), "/rate",
		fmt.Sprintf("must be 0, or from %g to %d", minReplayRate, MaxReplayRate))
	return p
}
