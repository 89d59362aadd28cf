package engine

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// The survey finds stale tasks without repeated reads, and without rows for tasks that end in time. It reads each
// task once by ID, and so by creation, at the age at which the smallest threshold allows the first warning. A live
// task then gets a watch for its next check; most have ended.

const surveyNote = "staleness_survey"

const (
	surveyWindow  = 2000
	surveyWindows = 10
)

// Survey reads a bounded number of tasks that became old, and reports whether it has reached the end. Concurrent
// processes store the same watches.
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

// Younger tasks have no warning in the current millisecond.
func (e *Engine) surveyEdge(smallest time.Duration) task.ID {
	warned := e.instant().Add(-smallest / 100 * task.WarningPercent)
	return task.MakeID(task.SeqFloor(warned.Add(time.Millisecond).Time()), 0)
}

// justBelow also holds for a store that keeps only the sequence of an ID: there the edge itself is a task's ID.
func justBelow(edge task.ID) task.ID { return task.MakeID(edge.Seq()-1, math.MaxUint64) }

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

func (e *Engine) thresholdsKey() string {
	t := e.cfg.StalenessThresholds
	return fmt.Sprintf("%s/%s/%s", t.WaitingForDependencies, t.WaitingForRetry, t.StepsInProcess)
}

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
	err := e.transact(ctx, func(ctx context.Context, tx Tx) error {
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

func watchesFeature() feature {
	return feature{
		name:   "watches",
		left:   func(u *unit, d departure) { mustWatch(u, d.task, d.was) },
		stages: []stage{{rankWatches, "watches", []string{"task_watches"}, watchSlot.save((*watched).save)}},
	}
}

// save adds watches of tasks that the survey passed in error, or whose watch is too late for their new state.
func (ws *watched) save() error {
	var watches []Watch
	for t, was := range ws.tasks {
		if t.State.Settled() {
			continue
		}
		def, err := ws.u.rows.template(t.DefID)
		if err != nil {
			return err
		}
		thresholds := ws.u.e.cfg.StalenessThresholds
		before, now := thresholds.Of(was, def.Lifecycle), thresholds.Of(t.State, def.Lifecycle)
		old := ws.u.now.Sub(t.CreatedAt) >= ws.u.e.lifecycles.youngest() // the survey reaches younger tasks
		if at := thresholds.LookAt(t, def.Lifecycle); at != 0 && (was == task.Errored || old && now > 0 && now < before) {
			watches = append(watches, Watch{t.ID, at})
		}
	}
	if len(watches) == 0 {
		return nil
	}
	return ws.u.e.watchStore.Watch(ws.u.ctx, ws.u.tx, watches)
}

// smallestThreshold returns 0 when there is none.
func (e *Engine) smallestThreshold(ctx context.Context) (time.Duration, error) {
	least, err := e.lifecycles.smallest(ctx, e.store, e.cfg.StalenessThresholds)
	if err != nil {
		return 0, fmt.Errorf("look for thresholds of templates: %w", err)
	}
	return least, nil
}

// lifecycles caches the thresholds of templates, whose versions never change.
type lifecycles struct {
	mu          sync.Mutex
	seen        int64
	least, most time.Duration
	duration    time.Duration
}

// youngest is the lowest age of surveyed tasks; 0 before the thresholds are loaded.
func (l *lifecycles) youngest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.least / 100 * task.WarningPercent
}

func (l *lifecycles) longest() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.most
}

func (l *lifecycles) longestDuration() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.duration
}

const templatePage = 200

// smallest first reads new templates. It holds mu during the reads, and keeps the old values on an error.
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

func (l *lifecycles) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen, l.least, l.most = 0, 0, 0
}
