package engine

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/task"
)

// How the staleness detector comes to know of tasks without looking at all of
// them, and without a row for one that is over in time: it looks at each task
// once, in the order of IDs and hence of creation, when the task is as old as the
// smallest threshold lets a warning begin. Those that live on get a watch, which
// says when to look at them again. So most tasks are looked at when they are over.

// surveyNote is the key of the note that says how far the survey has come.
const surveyNote = "staleness_survey"

const (
	// surveyWindow is how many tasks one look goes through.
	surveyWindow = 2000
	// surveyWindows bounds the looks of one call.
	surveyWindows = 10
)

// Survey looks at tasks that have lived for long and were not looked at before,
// up to a bound. It reports whether it has come to the end of them.
func (e *Engine) Survey(ctx context.Context) (bool, error) {
	smallest, err := e.smallestThreshold(ctx)
	if err != nil || smallest == 0 {
		return true, err
	}
	from, err := e.surveyed(ctx)
	if err != nil {
		return false, err
	}
	edge := e.surveyEdge(smallest)
	for range surveyWindows {
		live, stop, err := e.store.Survey(ctx, from, edge, surveyWindow)
		if err != nil {
			return false, fmt.Errorf("survey tasks: %w", err)
		}
		done := stop.IsZero()
		if done {
			stop = justBelow(edge)
		}
		if err := e.saveWatches(ctx, live, stop); err != nil || done {
			return done, err
		}
		from = stop
	}
	return false, nil
}

// surveyEdge is the ID at which tasks begin that are too young to be looked at: no
// warning of them is due in the millisecond that has begun.
func (e *Engine) surveyEdge(smallest time.Duration) task.ID {
	warned := e.instant().Add(-smallest / 100 * task.WarningPercent)
	return task.MakeID(task.SeqFloor(warned.Add(time.Millisecond).Time()), 0)
}

// justBelow is the last ID before an edge, for a store too that keeps nothing of an
// ID but its sequence: to it the edge itself is a task.
func justBelow(edge task.ID) task.ID { return task.MakeID(edge.Seq()-1, math.MaxUint64) }

// surveyed returns the ID up to which tasks were looked at under the thresholds
// in force.
func (e *Engine) surveyed(ctx context.Context) (task.ID, error) {
	text, err := e.noteStore.FindNote(ctx, surveyNote)
	if err != nil {
		return task.ID{}, fmt.Errorf("find out how far the survey has come: %w", err)
	}
	under, at, _ := strings.Cut(text, " ")
	if under != e.thresholdsKey() {
		return task.ID{}, nil
	}
	id, err := task.ParseID(at)
	if err != nil {
		return task.ID{}, nil //nolint:nilerror // then it begins anew
	}
	return id, nil
}

// thresholdsKey names the thresholds: watches are only right under those they
// were set under.
func (e *Engine) thresholdsKey() string {
	t := e.cfg.StalenessThresholds
	return fmt.Sprintf("%s/%s/%s", t.WaitingForDependencies, t.WaitingForRetry, t.StepsInProcess)
}

// saveWatches stores when to look at tasks again, and how far the survey has come.
func (e *Engine) saveWatches(ctx context.Context, live []*task.Task, upTo task.ID) error {
	var watches []Watch
	for _, t := range live {
		def, err := e.TemplateOf(ctx, t.DefID)
		if err != nil {
			return err
		}
		if at := e.cfg.StalenessThresholds.LookAt(t, def.Lifecycle); at != 0 {
			watches = append(watches, Watch{t.ID, at})
		}
	}
	err := e.store.Write(ctx, func(ctx context.Context, tx Tx) error {
		if len(watches) > 0 {
			if err := e.watchStore.Watch(ctx, tx, watches); err != nil {
				return err
			}
		}
		return e.noteStore.Note(ctx, tx, surveyNote, e.thresholdsKey()+" "+upTo.String())
	})
	if err != nil {
		return fmt.Errorf("watch tasks: %w", err)
	}
	return nil
}

// mustWatch notes that a live task has changed its state.
func (cc *caseChanges) mustWatch(t *task.Task, was task.State) {
	if t.State.Settled() {
		return
	}
	if cc.unwatched == nil {
		cc.unwatched = map[*task.Task]task.State{}
	}
	cc.unwatched[t] = was
}

// flushWatches sees to it that tasks get a watch that the survey has passed
// without one, because they were in error, or whose watch is too late for the
// state that they have come to.
func (cc *caseChanges) flushWatches() error {
	var watches []Watch
	for t, was := range cc.unwatched {
		if t.State.Settled() {
			continue
		}
		def, err := cc.u.rows.template(t.DefID)
		if err != nil {
			return err
		}
		thresholds := cc.u.e.cfg.StalenessThresholds
		before, now := thresholds.Of(was, def.Lifecycle), thresholds.Of(t.State, def.Lifecycle)
		old := cc.u.now.Sub(t.CreatedAt) >= cc.u.e.lifecycles.youngest() // else the survey will meet it
		if at := thresholds.LookAt(t, def.Lifecycle); at != 0 && (was == task.Errored || old && now > 0 && now < before) {
			watches = append(watches, Watch{t.ID, at})
		}
	}
	if len(watches) == 0 {
		return nil
	}
	return cc.u.e.watchStore.Watch(cc.u.ctx, cc.u.tx, watches)
}

// smallestThreshold returns the smallest threshold of any state and template; 0
// when there is none.
func (e *Engine) smallestThreshold(ctx context.Context) (time.Duration, error) {
	least, err := e.lifecycles.smallest(ctx, e.store, e.cfg.StalenessThresholds)
	if err != nil {
		return 0, fmt.Errorf("look for thresholds of templates: %w", err)
	}
	return least, nil
}

// lifecycles remembers the smallest threshold of the templates seen. A version of
// a template never changes, so each is read once.
type lifecycles struct {
	mu          sync.Mutex
	seen        int64
	least, most time.Duration
	duration    time.Duration // the longest max_duration
}

// youngest is the least age at which the survey may have met a task; 0 when it
// was never asked.
func (l *lifecycles) youngest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.least / 100 * task.WarningPercent
}

// longest returns the longest threshold of a template seen.
func (l *lifecycles) longest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.most
}

// longestDuration returns the longest max_duration of a template seen.
func (l *lifecycles) longestDuration() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.duration
}

const templatePage = 200

func (l *lifecycles) smallest(ctx context.Context, s ReadTemplates, global task.Thresholds) (time.Duration, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	least, most, newest, duration := l.least, l.most, l.seen, l.duration
	note := func(d time.Duration) {
		if d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	note(global.Smallest(task.Lifecycle{}))
	for below := int64(math.MaxInt64); below > l.seen; {
		page, err := s.ListTemplates(ctx, TemplateFilter{Below: below, Limit: templatePage})
		if err != nil {
			return 0, err
		}
		for _, t := range page {
			if t.DefID > l.seen {
				note(global.Smallest(t.Lifecycle))
				newest = max(newest, t.DefID)
				duration = max(duration, t.Lifecycle.MaxDuration)
				most = max(most, t.Lifecycle.MaxWaitingForDependencies, t.Lifecycle.MaxWaitingForRetry,
					t.Lifecycle.MaxStepsInProcess)
			}
			below = t.DefID
		}
		if len(page) < templatePage {
			break
		}
	}
	l.least, l.most, l.seen, l.duration = least, most, newest, duration
	return least, nil
}
