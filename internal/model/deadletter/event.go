package deadletter

import (
	"slices"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// EventKind is the kind of an event in the inbox.
type EventKind string

// The kinds of events.
const (
	EventGroupNew     EventKind = "group.new"
	EventRegression   EventKind = "group.regression"
	EventBurst        EventKind = "group.burst"
	EventGroupState   EventKind = "group.state"
	EventRedrive      EventKind = "redrive.state"
	EventReplay       EventKind = "replay.state"
	EventLost         EventKind = "source.lost"
	EventFound        EventKind = "source.found"
	EventRetrying     EventKind = "letter.retrying"
	EventRetried      EventKind = "letter.retried"
	EventDiscarded    EventKind = "letter.discarded"
	EventOutageOpened EventKind = "outage.opened"
	EventOutageClosed EventKind = "outage.closed"
	EventPauseBegun   EventKind = "pause.begun"
	EventPauseEnded   EventKind = "pause.ended"
	EventFired        EventKind = "schedule.fired"
	EventMissed       EventKind = "schedule.missed"
	// A decision or an expiry ends the wait for an approval.
	EventApprovalRequested EventKind = "approval.requested"
	EventApprovalDecided   EventKind = "approval.decided"
)

// EventKinds lists the kinds.
var EventKinds = []EventKind{EventGroupNew, EventRegression, EventBurst, EventGroupState, EventRedrive,
	EventReplay, EventLost, EventFound, EventRetrying, EventRetried, EventDiscarded, EventOutageOpened,
	EventOutageClosed, EventPauseBegun, EventPauseEnded, EventFired, EventMissed, EventApprovalRequested,
	EventApprovalDecided}

// Values of To in EventRetried.
const (
	RetrySent   = "sent"
	RetryFailed = "failed"
)

// The bounds of events of letters: letters named, and bytes of IDs and origins.
const (
	MaxEventLetters = 10
	MaxEventID      = 128
	MaxEventOrigin  = 255
)

// MaxCause is in bytes.
const MaxCause = 500

// Event reports a change in the inbox. It is small, because notifications carry it to other nodes. Its JSON names are
// stored.
type Event struct {
	ID        task.ID      `json:"-"` // zero if it is not stored
	Kind      EventKind    `json:"kind"`
	Namespace string       `json:"namespace"`
	At        task.Instant `json:"at"`
	// Object is the ID of the group, redrive or replay, or the name of the source.
	Object string `json:"object"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	// Cause is an act, or the reason of a halt, loss or failure; cut to MaxCause.
	Cause string `json:"cause,omitempty"`

	Title    string  `json:"title,omitempty"`
	Where    string  `json:"where,omitempty"`
	Failures int64   `json:"failures,omitempty"`
	Hour     int64   `json:"hour,omitempty"`  // of a burst: failures of the current clock hour
	Usual    float64 `json:"usual,omitempty"` // of a burst: hourly mean of the day before

	Total   int `json:"total,omitempty"`
	Decided int `json:"decided,omitempty"`
	Wave    int `json:"wave,omitempty"`
	// Counts read every item, so they are nil during a wave.
	Counts *model.ItemCounts `json:"counts,omitempty"`

	Replay *ReplayNews `json:"replay,omitempty"`
	Outage *OutageNews `json:"outage,omitempty"`
	// Object is the pause's target in words, Cause the reason.
	Pause *PauseNews `json:"pause,omitempty"`
	// Object is the UUID of the approval's step, Where the step's name, Title the question, Cause the reason, To the
	// end.
	Approval *ApprovalNews `json:"approval,omitempty"`
	Schedule *ScheduleNews `json:"schedule,omitempty"`
	// Total is the number of letters, Where their origin, Title the DiscardKind, Cause the first reason or error.
	First []EventLetter `json:"first,omitempty"`
}

// OutageNews is the outage of an event.
type OutageNews struct {
	Capabilities []string     `json:"capabilities,omitempty"`
	Group        string       `json:"group"`
	OpenedAt     task.Instant `json:"opened_at"`
	Probes       int          `json:"probes,omitempty"`
	Spared       int          `json:"spared,omitempty"`
	ClosedBy     string       `json:"closed_by,omitempty"`
}

// PauseNews is the pause of an event.
type PauseNews struct {
	Kind         string       `json:"kind"`
	Name         string       `json:"name,omitempty"`
	Capabilities []string     `json:"capabilities,omitempty"`
	By           string       `json:"by"`
	At           task.Instant `json:"at"`
	Until        task.Instant `json:"until,omitempty"`
	EndedBy      string       `json:"ended_by,omitempty"`
}

// ApprovalNews is the approval of an event.
type ApprovalNews struct {
	Task     string       `json:"task"`
	Template string       `json:"template"`
	Until    task.Instant `json:"until,omitempty"`
	By       string       `json:"by,omitempty"`
}

// ScheduleNews reports times of a schedule, with or without tasks.
type ScheduleNews struct {
	Kind   string       `json:"kind,omitempty"`
	Reason string       `json:"reason,omitempty"`
	First  task.Instant `json:"first"`
	Last   task.Instant `json:"last"`
	Tasks  []string     `json:"tasks,omitempty"`
}

// ReplayNews is the replay of an event.
type ReplayNews struct {
	Source string             `json:"source"`
	Topic  string             `json:"topic"`
	Into   ReplayInto         `json:"into"`
	Left   int64              `json:"left"`
	Counts model.ReplayCounts `json:"counts"`
}

// EventLetter is a letter in an event.
type EventLetter struct {
	ID        string `json:"id"`
	MessageID string `json:"message_id,omitempty"`
}

const maxEventTitle = 300

// GroupHappened returns an event of a group.
func GroupHappened(kind EventKind, g *Group, from model.GroupState, cause string, now task.Instant) Event {
	return Event{Kind: kind, Namespace: g.Namespace, At: now, Object: g.ID.String(), From: string(from),
		To: string(g.State), Cause: failure.Cut(cause, MaxCause), Title: failure.Cut(g.Title, maxEventTitle),
		Where: g.Print.Where, Failures: g.Failures}
}

// RedriveHappened reports a redrive's new state. counts may be nil.
func RedriveHappened(r *Redrive, from model.RedriveState, counts *model.ItemCounts, now task.Instant) Event {
	e := Event{Kind: EventRedrive, Namespace: r.Namespace, At: now, Object: r.ID.String(), From: string(from),
		To: string(r.State), Cause: failure.Cut(r.Halt, MaxCause), Total: r.Total, Decided: r.Behind, Wave: r.Wave,
		Counts: counts}
	if counts != nil {
		e.Decided = counts.Decided()
	}
	return e
}

// ReplayHappened reports a replay's new state.
func ReplayHappened(r *Replay, from model.ReplayState, now task.Instant) Event {
	return Event{Kind: EventReplay, Namespace: r.Namespace, At: now, Object: r.ID.String(), From: string(from),
		To: string(r.State), Cause: failure.Cut(r.Progress.Why, MaxCause), Replay: &ReplayNews{Source: r.Source,
			Topic: r.Spec.Topic, Into: r.Spec.Into, Left: r.Left(), Counts: r.Progress.Counts}}
}

// OutageHappened reports an opened or closed outage.
func OutageHappened(kind EventKind, o *task.Outage, now task.Instant) Event {
	cause := o.Why()
	if kind == EventOutageClosed {
		cause = o.CloseReason
	}
	return Event{Kind: kind, Namespace: o.Namespace, At: now, Object: o.ID.String(), Cause: failure.Cut(cause, MaxCause),
		Title: failure.Cut(o.Title, maxEventTitle), Where: o.Handler, Failures: int64(o.Failures),
		Outage: &OutageNews{Capabilities: task.SplitCapabilities(o.Capabilities), Group: GroupID(o.Group).String(),
			OpenedAt: o.OpenedAt, Probes: o.Probes, Spared: o.Spared, ClosedBy: o.ClosedBy}}
}

// PauseHappened reports a begun, changed or ended pause.
func PauseHappened(kind EventKind, p *task.Pause, now task.Instant) Event {
	cause := p.Reason
	if kind == EventPauseEnded {
		cause = p.EndReason
	}
	return Event{Kind: kind, Namespace: p.Namespace, At: now, Object: p.PauseTarget.String(),
		Cause: failure.Cut(cause, MaxCause), Pause: &PauseNews{Kind: string(p.Kind), Name: p.Name,
			Capabilities: task.SplitCapabilities(p.Capabilities), By: p.Actor, At: p.At, Until: p.Until, EndedBy: p.EndedBy}}
}

// ApprovalHappened reports an approval that begins or ends.
func ApprovalHappened(w *task.StepWait, text string, now task.Instant) Event {
	return Event{Kind: EventApprovalRequested, Namespace: w.Namespace, At: now, Object: w.Step.String(),
		Where: w.StepName,
		Title: failure.Cut(text, maxEventTitle), Approval: &ApprovalNews{Task: w.Task.String(), Template: w.Template,
			Until: w.Until}}
}

// Answered returns the event of an approval's end.
func (e Event) Answered(result, by, reason string) Event {
	e.Kind, e.To, e.Cause, e.Approval.By = EventApprovalDecided, result, failure.Cut(reason, MaxCause), by
	return e
}

// ScheduleHappened reports times of a schedule.
func ScheduleHappened(kind EventKind, namespace, name, cause string, times int, news ScheduleNews, now task.Instant,
) Event {
	return Event{Kind: kind, Namespace: namespace, At: now, Object: name, Cause: failure.Cut(cause, MaxCause),
		Total: times, Schedule: &news}
}

// SourceHappened reports a source that was lost for cause, or found again ("").
func SourceHappened(s *Source, cause string, now task.Instant) Event {
	e := Event{Kind: EventFound, Namespace: s.Namespace, At: now, Object: s.Name}
	if cause != "" {
		e.Kind, e.Cause = EventLost, failure.Cut(cause, MaxCause)
	}
	return e
}

const (
	// newsAge excludes groups of an older database from the news.
	newsAge = time.Hour
	// A burst has at least burstLeast failures in a clock hour, and burstFactor times the usual number.
	burstLeast, burstFactor = 50, 10
	burstDay, burstPause    = 24 * time.Hour, 6 * time.Hour
)

// First reports the first failure of a group once, unless it is older than newsAge or the group is merged.
func (g *Group) First(d Delta, now task.Instant) bool {
	if g.ToldAt != 0 || d.Failures <= 0 || d.Group != g.ID {
		return false
	}
	g.ToldAt = now
	return g.MergedInto == 0 && d.At >= now.Add(-newsAge)
}

// MayBurst is false if Burst cannot find a burst; it needs no hourly counts.
func (g *Group) MayBurst(now task.Instant) bool {
	return g.Failures >= burstLeast && g.MergedInto == 0 && (g.State == model.GroupOpen ||
		g.State == model.GroupAcknowledged) &&
		now.Sub(g.FirstAt) >= time.Hour && (g.BurstAt == 0 || now.Sub(g.BurstAt) >= burstPause)
}

// Burst records and reports a burst: 50 failures or more in this clock hour, and at least ten times the hourly mean
// of the previous day or since the first failure. A group has at most one in six hours, and none if resolved,
// ignored, merged, or younger than an hour.
func (g *Group) Burst(hours []Hour, now task.Instant) (hour int64, usual float64, burst bool) {
	if !g.MayBurst(now) {
		return 0, 0, false
	}
	begin := now - now%task.Instant(time.Hour.Microseconds())
	from := max(begin.Add(-burstDay), g.FirstAt-g.FirstAt%task.Instant(time.Hour.Microseconds()))
	var before int64
	for _, h := range hours {
		switch {
		case h.At >= begin:
			hour += h.Failures
		case h.At >= from:
			before += h.Failures
		}
	}
	usual = float64(before) / max(begin.Sub(from).Hours(), 1)
	if hour < burstLeast || float64(hour) < burstFactor*usual {
		return hour, usual, false
	}
	g.BurstAt = now
	return hour, usual, true
}

// SystemNamespace has the tasks that deliver events.
const SystemNamespace = "tasker-system"

// HookTypes are the event types that webhooks can receive.
var HookTypes = append(slices.Clone(DefaultHookTypes), string(EventRetrying), string(EventRetried),
	string(EventDiscarded), string(EventPauseBegun), string(EventPauseEnded), string(EventFired), string(EventMissed),
	string(EventApprovalDecided))

// DefaultHookTypes are those of a webhook that names none, without letters and schedules, which are many, and pauses,
// which are acts of operators.
var DefaultHookTypes = []string{string(EventGroupNew), string(EventRegression), string(EventBurst), hookHalted,
	hookReplayFailed, string(EventLost), string(EventOutageOpened), string(EventOutageClosed),
	string(EventApprovalRequested)}

const hookHalted, hookReplayFailed = "redrive.halted", "replay.failed"

// Hook returns the event's type for webhooks, "" for none. Events of SystemNamespace have none: a failed delivery
// must not cause another delivery.
func (e *Event) Hook() string {
	hook := string(e.Kind)
	switch {
	case e.Kind == EventRedrive && e.To == string(model.RedriveHalted):
		hook = hookHalted
	case e.Kind == EventReplay && e.To == string(model.ReplayFailed):
		hook = hookReplayFailed
	}
	if e.Namespace == SystemNamespace || !slices.Contains(HookTypes, hook) {
		return ""
	}
	return hook
}
