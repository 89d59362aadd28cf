package cases

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/engine/kernel"
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
func (e *Room) Survey(ctx context.Context) (bool, error) {
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
		live, stop, err := e.Store.Survey(ctx, from, edge, surveyWindow)
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
func (e *Room) surveyEdge(smallest time.Duration) task.ID {
	warned := e.Now().Add(-smallest / 100 * task.WarningPercent)
	return task.MakeID(task.SeqFloor(warned.Add(time.Millisecond).Time()), 0)
}

// justBelow also holds for a store that keeps only the sequence of an ID: there the edge itself is a task's ID.
func justBelow(edge task.ID) task.ID { return task.MakeID(edge.Seq()-1, math.MaxUint64) }

func (e *Room) surveyed(ctx context.Context) (task.ID, error) {
	text, err := e.NoteStore.FindNote(ctx, surveyNote)
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

func (e *Room) thresholdsKey() string {
	t := e.Cfg.StalenessThresholds
	return fmt.Sprintf("%s/%s/%s", t.WaitingForDependencies, t.WaitingForRetry, t.StepsInProcess)
}

func (e *Room) saveWatches(ctx context.Context, live []*task.Task, upTo task.ID) error {
	var watches []kernel.Watch
	for _, t := range live {
		def, err := e.TemplateOf(ctx, t.DefID)
		if err != nil {
			return err
		}
		if at := e.Cfg.StalenessThresholds.LookAt(t, def.Lifecycle); at != 0 {
			watches = append(watches, kernel.Watch{Task: t.ID, At: at})
		}
	}
	err := e.Transact(ctx, func(ctx context.Context, tx kernel.Tx) error {
		if len(watches) > 0 {
			if err := e.watchStore.Watch(ctx, tx, watches); err != nil {
				return err
			}
		}
		return e.NoteStore.Note(ctx, tx, surveyNote, e.thresholdsKey()+" "+upTo.String())
	})
	if err != nil {
		return fmt.Errorf("watch tasks: %w", err)
	}
	return nil
}

func WatchesFeature() kernel.Feature {
	return kernel.Feature{
		Name: "watches",
		Left: func(u *kernel.Unit, d kernel.Departure) { kernel.MustWatch(u, d.Task, d.Was) },
		Stages: []kernel.Stage{{Rank: kernel.RankWatches, Name: "watches", Locks: []string{"task_watches"},
			Save: kernel.WatchSlot.Save(save)}},
	}
}

// save adds watches of tasks that the survey passed in error, or whose watch is too late for their new state.
func save(ws *kernel.Watched) error {
	var watches []kernel.Watch
	for t, was := range ws.Tasks {
		if t.State.Settled() {
			continue
		}
		def, err := ws.U.Rows.Template(t.DefID)
		if err != nil {
			return err
		}
		thresholds := ws.U.E.Cfg.StalenessThresholds
		before, now := thresholds.Of(was, def.Lifecycle), thresholds.Of(t.State, def.Lifecycle)
		old := ws.U.Now.Sub(t.CreatedAt) >= Of(ws.U.E).lifecycles.youngest() // the survey reaches younger tasks
		if at := thresholds.LookAt(t, def.Lifecycle); at != 0 && (was == task.Errored || old && now > 0 && now < before) {
			watches = append(watches, kernel.Watch{Task: t.ID, At: at})
		}
	}
	if len(watches) == 0 {
		return nil
	}
	return Of(ws.U.E).watchStore.Watch(ws.U.Ctx, ws.U.Tx, watches)
}

// smallestThreshold returns 0 when there is none.
func (e *Room) smallestThreshold(ctx context.Context) (time.Duration, error) {
	least, err := e.lifecycles.smallest(ctx, e.Store, e.Cfg.StalenessThresholds)
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
func (l *lifecycles) smallest(ctx context.Context, s kernel.ReadTemplates,
	global task.Thresholds,
) (time.Duration, error) {
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
		page, err := s.ListTemplates(ctx, kernel.TemplateFilter{Below: below, Limit: templatePage})
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
