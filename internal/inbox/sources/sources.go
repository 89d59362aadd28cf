// Package sources keeps the sources of dead letters and their policies: what operators and the configuration save,
// their state, what of their letters is sensitive, and what policies decide about letters.
package sources

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/posturl"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Options of a Registry.
type Options struct {
	Carriers      seam.Carriers
	Formats       []string
	DefaultPolicy *deadletter.Policy // of letters without a stored one; nil leaves them to operators
}

// Registry keeps sources and policies.
type Registry struct {
	*desk.Desk
	store Store
	opts  Options
	// Changed has a value when the readers should look at the sources now.
	Changed chan struct{}
}

// New returns a Registry.
func New(d *desk.Desk, store Store, opts Options) *Registry {
	return &Registry{d, store, opts, make(chan struct{}, 1)}
}

func withDefaults(s *deadletter.Source) *deadletter.Source {
	of := s.WithDefaults()
	of.Version = max(of.Version, 1)
	return &of
}

// SaveSource adds or replaces a source without a look at its broker. This node applies it immediately, others within a
// second. Without a version the last writer wins. Invalid also for an unknown driver; Forbidden for a key that may not
// see sensitive values, if fewer would be masked.
func (in *Registry) SaveSource(ctx context.Context, s *deadletter.Source, by desk.By) (*deadletter.Source, error) {
	if err := desk.Reach(ctx, s.Namespace); err != nil {
		return nil, err
	}
	by, err := desk.Signed(ctx, by)
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
func (in *Registry) saveSource(ctx context.Context, s *deadletter.Source, by desk.By,
	before func(ctx context.Context, tx engine.Tx, known, next *deadletter.Source) error,
) (*deadletter.Source, error) {
	next := withDefaults(s)
	if problems := slices.Concat(next.Validate(), in.brokerFaults(s), in.IntakeFaults(s)); len(problems) > 0 {
		return nil, &task.Error{Code: task.Invalid, Message: "the source was not saved", Problems: problems}
	}
	defer in.wakeReaders()
	return desk.Versioned(ctx, in.Desk, by, func(ctx context.Context, tx engine.Tx) (*deadletter.Source, error) {
		known, err := in.store.Source(ctx, tx, s.Namespace, s.Name)
		if err != nil {
			return nil, err
		}
		kind, version := "add_source", int64(0)
		if known != nil {
			kind, version = "change_source", known.Version
		}
		if err := by.Expected("the source", version); err != nil {
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
		return next, errors.Join(in.store.SaveSource(ctx, tx, next), in.Act(ctx, tx, desk.Act{Kind: kind, By: by,
			Namespace: s.Namespace, Of: s.Name, Before: recordOfSource(known), After: recordOfSource(next)}))
	})
}

func (in *Registry) brokerFaults(s *deadletter.Source) (f desk.Faults) {
	if s.Driver == deadletter.DriverHTTP {
		const unused = "does not go with the driver http, whose letters programs report"
		f.When(s.Format != "", "/format", unused)
		f.When(s.Queue != "", "/queue", unused)
		f.When(s.URL != "", "/url", unused)
		return f
	}
	const unknown = "is not known to this server: it must be one of "
	if err := driver.Missing(s.Driver); in.opts.Carriers[s.Driver] == nil && err != nil {
		f.When(true, "/driver", "cannot be read here: "+err.Error())
	} else {
		f.When(in.opts.Carriers[s.Driver] == nil, "/driver",
			unknown+strings.Join(slices.Sorted(maps.Keys(in.opts.Carriers)), ", "))
	}
	f.When(s.Format != "" && !slices.Contains(in.opts.Formats, s.Format), "/format",
		unknown+strings.Join(in.opts.Formats, ", "))
	return f
}

// IntakeFaults returns what is wrong with the intake of a source.
func (in *Registry) IntakeFaults(s *deadletter.Source) (f desk.Faults) {
	if s.Intake == nil {
		return nil
	}
	http := s.Driver == deadletter.DriverHTTP
	f.When(http, "/intake", "does not go with the driver http: programs submit tasks instead")
	f.When(!http && s.Queue == "", "/queue", "is missing: there is nothing to take in")
	constant := s.Intake.Priority
	if v, _ := deadletter.ParseValue(constant); v.From != deadletter.FromText {
		constant = ""
	}
	levels := map[string]int{}
	for _, p := range []struct{ at, text string }{{"/intake/priority", constant},
		{"/intake/min_priority", s.Intake.MinPriority}, {"/intake/max_priority", s.Intake.MaxPriority}} {
		level, ok := in.Tasks.Level(p.text)
		if f.When(!ok, p.at, fmt.Sprintf("%q is not a priority: use a name of the configuration, or a level from 0 to %d",
			p.text, task.MaxPriority)); ok && p.text != "" {
			levels[p.at] = level
		}
	}
	least, bounded := levels["/intake/min_priority"]
	most, ok := levels["/intake/max_priority"]
	f.When(ok && bounded && most < least, "/intake/max_priority", "is below min_priority")
	return f
}

// DropSource removes a source. Its letters stay and can be discarded, but not sent back. Its reader stops within a
// second, on this node immediately; messages until then are refused, and stay on the broker.
func (in *Registry) DropSource(ctx context.Context, namespace, name string, by desk.By) error {
	_, err := in.withSource(ctx, namespace, name, by, "remove_source",
		func(ctx context.Context, tx engine.Tx, s *deadletter.Source) error {
			// Its letters stay, and no other row marks their sensitive parts.
			if len(s.Sensitive)+len(s.SensitiveHeaders) > 0 {
				return desk.Hinted(task.Conflict,
					"save it without sensitive fields first, with the permission sensitive; or pause it",
					"the source has sensitive fields: its letters would no longer be masked")
			}
			return errors.Join(in.store.ForgetOversized(ctx, tx, namespace, name), in.store.DropSource(ctx, tx, s))
		})
	return err
}

// PauseSource stops reading a source, or resumes it. Letters are still sent back.
func (in *Registry) PauseSource(ctx context.Context, namespace, name string, paused bool, by desk.By) (
	*deadletter.Source, error,
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

// PauseFor pauses a source for the system.
func (in *Registry) PauseFor(ctx context.Context, of deadletter.SourceKey, why string) error {
	by := desk.By{Actor: engine.System, Reason: why}
	defer in.wakeReaders()
	_, err := desk.Versioned(ctx, in.Desk, by, func(ctx context.Context, tx engine.Tx) (*deadletter.Source, error) {
		s, err := in.store.Source(ctx, tx, of.Namespace, of.Name)
		if err != nil || s == nil || s.Paused {
			return nil, err
		}
		before := sourceState(s)
		s.Paused = true
		s.Version++
		return s, errors.Join(in.store.SaveSource(ctx, tx, s), in.Act(ctx, tx, desk.Act{Kind: "pause_source", By: by,
			Namespace: of.Namespace, Of: of.Name, From: before, To: sourceState(s)}))
	})
	return err
}

func (in *Registry) withSource(ctx context.Context, namespace, name string, by desk.By, kind string,
	fn func(context.Context, engine.Tx, *deadletter.Source) error,
) (*deadletter.Source, error) {
	defer in.wakeReaders()
	return desk.Acting(ctx, in.Desk, by, func(ctx context.Context, tx engine.Tx, by desk.By) (*deadletter.Source, error) {
		if !desk.Nameable(ctx, namespace, name) {
			return nil, NoSource(name)
		}
		s, err := in.store.Source(ctx, tx, namespace, name)
		if err != nil {
			return nil, err
		}
		if s == nil {
			return nil, NoSource(name)
		}
		if err := by.Expected("the source", s.Version); err != nil {
			return nil, err
		}
		a := desk.Act{Kind: kind, By: by, Namespace: namespace, Of: name, From: sourceState(s), Before: recordOfSource(s)}
		if err := fn(ctx, tx, s); err != nil {
			return nil, err
		}
		if kind != "remove_source" {
			a.To, a.After = sourceState(s), recordOfSource(s)
		}
		return s, in.Act(ctx, tx, a)
	})
}

// SourceOf returns a source that the request may name, or NotFound.
func (in *Registry) SourceOf(ctx context.Context, namespace, name string) (*deadletter.Source, error) {
	if !desk.Nameable(ctx, namespace, name) {
		return nil, NoSource(name)
	}
	s, err := in.store.FindSource(ctx, namespace, name)
	if err == nil && s == nil {
		err = NoSource(name)
	}
	return s, err
}

// NoSource is the error for a missing source.
func NoSource(name string) error { return task.Errorf(task.NotFound, "there is no source %q", name) }

func recordOfSource(s *deadletter.Source) any {
	if s == nil {
		return nil
	}
	r := desk.Fields{"driver": s.Driver, "queue": s.Queue, "format": s.Format, "targets": posturl.RedactAll(s.Targets),
		"max_replays": new(s.MaxReplays), "max_open": s.MaxOpen, "paused": s.Paused, "intake": s.Intake,
		"sensitive": s.Sensitive, "sensitive_headers": s.SensitiveHeaders}
	if u, err := url.Parse(s.URL); err == nil && u.Host != "" {
		r["broker"] = u.Scheme + "://" + u.Host // without user, password and parameters
	}
	return r
}

func sourceState(s *deadletter.Source) string {
	if s.Paused {
		return "paused"
	}
	return "reading"
}

// Introduce adds a source at a program's first report. A missing source of a broker was removed while a node read it:
// its messages stay there.
func (in *Registry) Introduce(ctx context.Context, tx engine.Tx, s *deadletter.Source) error {
	if s.Driver != deadletter.DriverHTTP {
		return NoSource(s.Name)
	}
	known, err := in.store.Source(ctx, tx, s.Namespace, s.Name)
	if err != nil || known != nil {
		return err
	}
	added := withDefaults(s)
	if err := in.store.SaveSource(ctx, tx, added); err != nil {
		return err
	}
	by := desk.By{Actor: engine.System, Reason: "a program reports its first failure under this name"}
	return in.Act(ctx, tx, desk.Act{Kind: "add_source", By: by, Namespace: s.Namespace, Of: s.Name,
		After: recordOfSource(added)})
}

// maxSources bounds the sources of a namespace: programs that report failures add sources.
const maxSources = 1000

// RoomForSource refuses one more source in a full namespace.
func (in *Registry) RoomForSource(ctx context.Context, namespace string) error {
	all, err := in.store.Sources(ctx, namespace)
	if err != nil || len(all) < maxSources {
		return err
	}
	return desk.Hinted(task.Exhausted, "report under the name of a source that exists: see tasker source list",
		"the namespace has as many sources as it may have")
}

// MarkSource stores since when and why a source is lost, and tells of it.
func (in *Registry) MarkSource(ctx context.Context, s *deadletter.Source, lost task.Instant, why string) error {
	why = failure.Cut(why, deadletter.MaxCause)
	return in.DB.Write(ctx, func(ctx context.Context, tx engine.Tx) error {
		changed, err := in.store.MarkSource(ctx, tx, s.Namespace, s.Name, lost, why)
		if err != nil || !changed {
			return err
		}
		return in.Tell(ctx, tx, deadletter.SourceHappened(s, why, in.Now()))
	})
}
