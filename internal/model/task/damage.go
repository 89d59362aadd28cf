package task

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A row can hold an unrepresentable value, after a manual change, an older version's weaker checks, or a disk
// failure. The row is shown without it, with an explanation.

type damage []string

func (d *damage) add(fault string) {
	if fault != "" {
		*d = append(*d, fault)
	}
}

func (d *damage) times(list ...*Instant) {
	for _, i := range list {
		if !i.shows() {
			d.add(fmt.Sprintf("the time %d is out of range", *i))
			*i = 0
		}
	}
}

// document clears JSON that cannot be embedded in another document.
func (d *damage) document(name string, p *[]byte) {
	switch {
	case *p == nil:
		return
	case bytes.HasPrefix(*p, unopened):
		reason, _, _ := WhyUnopened(*p)
		d.add(name + " cannot be decrypted: " + reason)
	case tooDeep(*p): // first, because the parser has its own bound
		d.add(fmt.Sprintf("%s nests deeper than %d levels", name, MaxDepth))
	case !json.Valid(*p):
		d.add(name + " is not valid JSON")
	default:
		return
	}
	*p = nil
}

func (d damage) String() string { return strings.Join(d, "; ") }

// Shown returns the task without its unreadable parts, and an explanation, usually "". It checks the context if it
// was read.
func (t Task) Shown() (*Task, string) {
	var d damage
	d.add(t.Unread)
	if !slices.Contains(States, t.State) {
		d.add(fmt.Sprintf("there is no task state %q", t.State))
	}
	d.times(&t.CreatedAt, &t.StateAt, &t.RunAt, &t.FinishedAt, &t.DeadlineAt, &t.Meta.ReplayedAt,
		&t.Meta.Deadline)
	d.document("context", &t.Context)
	return &t, d.String()
}

// Shown is Task.Shown for a step; faults of the template do not count.
func (s Step) Shown(of *Template) (*Step, string) {
	var d damage
	d.add(s.Unread)
	if of.Unread == "" && !of.Has(&s) {
		d.add(fmt.Sprintf("its template has no step %d", s.Ordinal))
	}
	if !slices.Contains(StepStates, s.State) {
		d.add(fmt.Sprintf("there is no step state %q", s.State))
	}
	d.times(&s.ReadyAt, &s.AssignedAt, &s.StartedAt, &s.FinishedAt, &s.LeaseUntil)
	if s.Queue == Timers {
		d.times((*Instant)(&s.Key))
	}
	d.document("result", &s.Result)
	return &s, d.String()
}

// Shown is Task.Shown for a case.
func (c Case) Shown() (*Case, string) {
	var d damage
	d.add(c.Unread)
	d.times(&c.OpenedAt, &c.OccurredAt, &c.ResolvedAt, &c.CreatedAt, &c.UpdatedAt)
	d.document("metadata", &c.Metadata)
	d.document("task_snapshot", &c.Snapshot)
	c.Former, c.Thread = slices.Clone(c.Former), slices.Clone(c.Thread)
	for i := range c.Former {
		o := &c.Former[i]
		d.add(o.Unread)
		d.times(&o.At)
		d.document(fmt.Sprintf("the snapshot of occurrence %d", o.No), &o.Snapshot)
	}
	for i := range c.Thread {
		d.times(&c.Thread[i].At)
	}
	return &c, d.String()
}

// Shown is Task.Shown for an act.
func (a Act) Shown() (*Act, string) {
	var d damage
	d.add(a.Unread)
	d.times(&a.At)
	d.document("data", &a.Data)
	return &a, d.String()
}

// Shown is Task.Shown for a worker.
func (w Worker) Shown() (*Worker, string) {
	var d damage
	d.add(w.Unread)
	d.times(&w.StartedAt, &w.LastHeartbeat, &w.BrokenAt, &w.CordonedAt, &w.DrainedAt)
	return &w, d.String()
}

// Shown is Task.Shown for an attempt.
func (a Attempt) Shown() (*Attempt, string) {
	var d damage
	d.add(a.Unread)
	d.times(&a.ReadyAt, &a.AssignedAt, &a.StartedAt, &a.FinishedAt)
	if a.Failure != nil && a.Failure.Details != nil {
		f := *a.Failure
		d.document("error details", &f.Details)
		a.Failure = &f
	}
	return &a, d.String()
}

// UnreadTemplate replaces a deleted or unreadable template in displays.
func UnreadTemplate(def int64, why string) *Template {
	return &Template{DefID: def, Unread: fmt.Sprintf("its template, with key %d, %s", def, why)}
}

// Has reports whether the template has the step.
func (t *Template) Has(s *Step) bool { return 1 <= s.Ordinal && s.Ordinal <= len(t.Steps) }

// Spec returns a nearly empty specification for an unknown step.
func (t *Template) Spec(s *Step) StepSpec {
	if !t.Has(s) {
		return StepSpec{Name: fmt.Sprintf("step %d", s.Ordinal)}
	}
	return t.Steps[s.Ordinal-1]
}
