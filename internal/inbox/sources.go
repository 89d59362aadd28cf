package inbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// shownOpen bounds the count of a source's open letters in a list, even with millions. Sources with a bound above it
// are counted up to roomOpen, so that a full one shows.
const shownOpen, roomOpen = 10_000, 100_000

func withDefaults(s *deadletter.Source) *deadletter.Source {
	of := s.WithDefaults()
	of.Version = max(of.Version, 1)
	return &of
}

// SaveSource adds or replaces a source without a look at its broker. This node applies it immediately, others within a
// second. Without a version the last writer wins. Invalid also for an unknown driver; Forbidden for a key that may not
// see sensitive values, if fewer would be masked.
func (in *Inbox) SaveSource(ctx context.Context, s *deadletter.Source, by By) (*deadletter.Source, error) {
	if err := reach(ctx, s.Namespace); err != nil {
		return nil, err
	}
	by, err := signed(ctx, by)
	if err != nil {
		return nil, err
	}
	return in.saveSource(ctx, s, by,
		func(ctx context.Context, _ engine.Tx, known, next *deadletter.Source) error {
			return refuseUnmasking(ctx, known, next)
		})
}

// saveSource saves a checked source. before runs in the same transaction, maybe again, with the known source or nil,
// and may change next.
func (in *Inbox) saveSource(ctx context.Context, s *deadletter.Source, by By,
	before func(ctx context.Context, tx engine.Tx, known, next *deadletter.Source) error,
) (*deadletter.Source, error) {
	next := withDefaults(s)
	if problems := slices.Concat(next.Validate(), in.brokerFaults(s), in.intakeFaults(s)); len(problems) > 0 {
		return nil, &task.Error{Code: task.Invalid, Message: "the source was not saved", Problems: problems}
	}
	defer in.wakeReaders()
	return versioned(ctx, in, by, func(ctx context.Context, tx engine.Tx) (*deadletter.Source, error) {
		known, err := in.store.Source(ctx, tx, s.Namespace, s.Name)
		if err != nil {
			return nil, err
		}
		kind, version := "add_source", int64(0)
		if known != nil {
			kind, version = "change_source", known.Version
		}
		if err := by.expected("the source", version); err != nil {
			return nil, err
		}
		next.Version = version + 1
		if err := before(ctx, tx, known, next); err != nil {
			return nil, err
		}
		if known != nil && (known.Driver != next.Driver || known.URL != next.URL || known.Queue != next.Queue) {
			if err := in.store.ForgetOversized(ctx, tx, s.Namespace, s.Name); err != nil { // they are elsewhere
				return nil, err
			}
		}
		return next, errors.Join(in.store.SaveSource(ctx, tx, next), in.act(ctx, tx, act{kind: kind, by: by,
			namespace: s.Namespace, of: s.Name, before: recordOfSource(known), after: recordOfSource(next)}))
	})
}

func (in *Inbox) brokerFaults(s *deadletter.Source) (f faults) {
	if s.Driver == HTTP {
		const unused = "does not go with the driver http, whose letters programs report"
		f.when(s.Format != "", "/format", unused)
		f.when(s.Queue != "", "/queue", unused)
		f.when(s.URL != "", "/url", unused)
		return f
	}
	const unknown = "is not known to this server: it must be one of "
	if err := driver.Missing(s.Driver); in.opts.Carriers[s.Driver] == nil && err != nil {
		f.when(true, "/driver", "cannot be read here: "+err.Error())
	} else {
		f.when(in.opts.Carriers[s.Driver] == nil, "/driver",
			unknown+strings.Join(slices.Sorted(maps.Keys(in.opts.Carriers)), ", "))
	}
	f.when(s.Format != "" && !slices.Contains(in.opts.Formats, s.Format), "/format",
		unknown+strings.Join(in.opts.Formats, ", "))
	return f
}

func (in *Inbox) intakeFaults(s *deadletter.Source) (f faults) {
	if s.Intake == nil {
		return nil
	}
	http := s.Driver == HTTP
	f.when(http, "/intake", "does not go with the driver http: programs submit tasks instead")
	f.when(!http && s.Queue == "", "/queue", "is missing: there is nothing to take in")
	constant := s.Intake.Priority
	if v, _ := deadletter.ParseValue(constant); v.From != deadletter.FromText {
		constant = ""
	}
	levels := map[string]int{}
	for _, p := range []struct{ at, text string }{{"/intake/priority", constant},
		{"/intake/min_priority", s.Intake.MinPriority}, {"/intake/max_priority", s.Intake.MaxPriority}} {
		level, ok := in.tasks.Level(p.text)
		if f.when(!ok, p.at, fmt.Sprintf("%q is not a priority: use a name of the configuration, or a level from 0 to %d",
			p.text, task.MaxPriority)); ok && p.text != "" {
			levels[p.at] = level
		}
	}
	least, bounded := levels["/intake/min_priority"]
	most, ok := levels["/intake/max_priority"]
	f.when(ok && bounded && most < least, "/intake/max_priority", "is below min_priority")
	return f
}

// DropSource removes a source. Its letters stay and can be discarded, but not sent back. Its reader stops within a
// second, on this node immediately; messages until then are refused, and stay on the broker.
func (in *Inbox) DropSource(ctx context.Context, namespace, name string, by By) error {
	_, err := in.withSource(ctx, namespace, name, by, "remove_source",
		func(ctx context.Context, tx engine.Tx, s *deadletter.Source) error {
			// Its letters stay, and no other row marks their sensitive parts.
			if len(s.Sensitive)+len(s.SensitiveHeaders) > 0 {
				return hinted(task.Conflict,
					"save it without sensitive fields first, with the permission sensitive; or pause it",
					"the source has sensitive fields: its letters would no longer be masked")
			}
			return errors.Join(in.store.ForgetOversized(ctx, tx, namespace, name), in.store.DropSource(ctx, tx, s))
		})
	return err
}

// PauseSource stops reading a source, or resumes it. Letters are still sent back.
func (in *Inbox) PauseSource(ctx context.Context, namespace, name string, paused bool, by By) (*deadletter.Source,
	error,
) {
	kind := "resume_source"
	if paused {
		kind = "pause_source"
	}
	return in.withSource(ctx, namespace, name, by, kind,
		func(ctx context.Context, tx engine.Tx, s *deadletter.Source) error {
			s.Paused = paused
			s.Version++
			return in.store.SaveSource(ctx, tx, s)
		})
}

func (in *Inbox) withSource(ctx context.Context, namespace, name string, by By, kind string,
	fn func(context.Context, engine.Tx, *deadletter.Source) error,
) (*deadletter.Source, error) {
	defer in.wakeReaders()
	return acting(ctx, in, by, func(ctx context.Context, tx engine.Tx, by By) (*deadletter.Source, error) {
		if !nameable(ctx, namespace, name) {
			return nil, noSource(name)
		}
		s, err := in.store.Source(ctx, tx, namespace, name)
		if err != nil {
			return nil, err
		}
		if s == nil {
			return nil, noSource(name)
		}
		if err := by.expected("the source", s.Version); err != nil {
			return nil, err
		}
		a := act{kind: kind, by: by, namespace: namespace, of: name, from: sourceState(s), before: recordOfSource(s)}
		if err := fn(ctx, tx, s); err != nil {
			return nil, err
		}
		if kind != "remove_source" {
			a.to, a.after = sourceState(s), recordOfSource(s)
		}
		return s, in.act(ctx, tx, a)
	})
}

func (in *Inbox) source(ctx context.Context, namespace, name string) (*deadletter.Source, error) {
	if !nameable(ctx, namespace, name) {
		return nil, noSource(name)
	}
	s, err := in.store.FindSource(ctx, namespace, name)
	if err == nil && s == nil {
		err = noSource(name)
	}
	return s, err
}

func noSource(name string) error { return task.Errorf(task.NotFound, "there is no source %q", name) }

// Sources returns the sources of a namespace, or of all that the request reaches (""), with their states.
func (in *Inbox) Sources(ctx context.Context, namespace string) ([]*SourceStatus, error) {
	namespace, err := narrow(ctx, namespace)
	if err != nil {
		return nil, err
	}
	sources, err := in.store.Sources(ctx, namespace)
	if err != nil {
		return nil, err
	}
	var out []*SourceStatus
	for _, s := range sources {
		st, err := in.status(ctx, s)
		if err != nil {
			return nil, err
		}
		out = append(out, st)
	}
	return out, nil
}

// Source returns a source with its state and policies.
func (in *Inbox) Source(ctx context.Context, namespace, name string) (*SourceStatus, error) {
	s, err := in.source(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	st, err := in.status(ctx, s)
	if err != nil {
		return nil, err
	}
	all, err := in.policiesOf(ctx, namespace)
	if err != nil {
		return nil, err
	}
	st.Policies, st.Waiting = all.ofSource(s), in.depth(ctx, st)
	return st, nil
}

// depth asks a broker how many messages wait; -1 without an answer within 2 s, or if the source is lost.
func (in *Inbox) depth(ctx context.Context, of *SourceStatus) int64 {
	carrier := in.brokerOf(of.Source)
	if carrier == nil || of.State == "lost" {
		return -1
	}
	ctx, cancel := context.WithTimeout(ctx, levelTime)
	defer cancel()
	n, err := carrier.Depth(ctx, of.Source)
	if err != nil {
		return -1
	}
	return n
}

// status returns the state of a source from its row and its number of open letters. Only the node that reads it, and
// TestSource, see whether its broker answers.
func (in *Inbox) status(ctx context.Context, s *deadletter.Source) (*SourceStatus, error) {
	st := &SourceStatus{Source: s, State: "reading", Waiting: -1}
	var err error
	bound := max(shownOpen, min(s.MaxOpen, roomOpen))
	if st.Open, err = in.store.OpenLetters(ctx, s.Namespace, s.Name, bound+1); err != nil {
		return st, err
	}
	st.Open, st.OpenCapped = atMost(st.Open, bound)
	if st.Oversized, err = in.oversized(ctx, s); err != nil {
		return st, err
	}
	switch {
	case s.Driver == HTTP:
		st.State = "reported"
	case s.Paused:
		st.State = "paused"
	case s.LostAt != 0:
		st.State, st.Error, st.Since = "lost", s.LostFor, s.LostAt
	case s.MaxOpen > 0 && st.Open >= s.MaxOpen:
		st.State, st.Error = "waiting", fmt.Sprintf("it has %d open letters, as many as it may have", st.Open)
	case st.Oversized.Messages >= MaxOversized:
		st.State, st.Error = "waiting", tooManyLarge(in.opts.LetterBytes)
	}
	return st, nil
}

func atMost(n, bound int) (int, bool) { return min(n, bound), n > bound }

// TestSource asks the broker whether a source's queue exists. Error is why it cannot be read. A source of reports is
// always fine.
func (in *Inbox) TestSource(ctx context.Context, namespace, name string) (*SourceStatus, error) {
	s, err := in.source(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	st, err := in.status(ctx, s)
	if err != nil || s.Driver == HTTP {
		return st, err
	}
	carrier := in.opts.Carriers[s.Driver]
	if carrier == nil {
		st.State, st.Error = "lost", "this server has no driver "+quoted(s.Driver)
		return st, nil
	}
	switch exists, err := carrier.Exists(ctx, s, s.Queue); {
	case err != nil:
		st.State, st.Error = "lost", err.Error()
	case !exists:
		st.State, st.Error = "lost", fmt.Sprintf("the broker has no queue %q", s.Queue)
	case s.Intake != nil:
		if st.Preview, err = in.previewIntake(ctx, s); err != nil {
			st.State, st.Error = "lost", err.Error()
		}
	}
	return st, nil
}
