package cases

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

// DetectionAction is the detector's action on a stale task. The API has the same values.
type DetectionAction string

// The actions.
const (
	WouldTransition DetectionAction = "would_transition_to_dlq_and_error" // dry run
	MovedAndErrored DetectionAction = "transitioned_to_dlq_and_error"
	MovedOnly       DetectionAction = "moved_to_dlq_only"
	// it has a pending case, or cases are off
	ErroredOnly      DetectionAction = "transitioned_to_error_only"
	TransitionFailed DetectionAction = "transition_failed"
)

// Detected is a stale task and the action taken on it.
type Detected struct {
	Task      task.ID
	Template  *task.Template
	State     task.State // before
	InState   time.Duration
	Threshold time.Duration
	Limit     task.Limit // the source of the threshold
	Action    DetectionAction
	Case      bool
	Errored   bool
	Err       error // why it was not put in error; for the log
	// TraceParent is the submission's W3C trace context, or ""; for the log.
	TraceParent string

	watch   kernel.Watch
	opening *Opening // of its case, or nil
}

// DetectStaleness puts up to batch stale tasks (0: as configured) in error, the longest stale first, and opens their
// cases with a snapshot. A failure on one does not stop the others. Invalid: batch is out of bounds.
//
// The cost grows with the tasks that are overdue or became old since the last run; see survey. Processes may run it
// concurrently, because each checks again under the tasks' locks.
func (e *Room) DetectStaleness(ctx context.Context, batch int, dryRun bool) ([]Detected, error) {
	batch, err := e.detectionBatch(batch)
	if err != nil {
		return nil, err
	}
	began := e.Clock()
	found, err := e.detect(ctx, batch, dryRun)
	if e.Observer != nil {
		e.Observer.Detected(detection(began, e.Clock(), e.Cfg.StalenessDetection.DetectionInterval, dryRun, found, err))
	}
	return found, err
}

func (e *Room) detectionBatch(batch int) (int, error) {
	if batch == 0 {
		batch = e.Cfg.StalenessDetection.BatchSize
	}
	if batch < 1 || batch > settings.MaxDetections {
		return 0, task.Errorf(task.Invalid, "the batch must be 1 to %d tasks, not %d", settings.MaxDetections, batch)
	}
	return batch, nil
}

// DetectByHand is DetectStaleness with an act, stored before tasks change unless it is a dry run. Invalid: actor or
// reason breaks a rule.
func (e *Room) DetectByHand(ctx context.Context, actor, reason string, batch int, dryRun bool) ([]Detected, error) {
	if problems := kernel.CheckActor(actor, reason); len(problems) > 0 {
		return nil, &task.Error{Code: task.Invalid, Message: "the detector was not started", Problems: problems}
	}
	batch, err := e.detectionBatch(batch)
	if err != nil {
		return nil, err
	}
	if !dryRun {
		err := e.Write(ctx, "note_detection", func(u *kernel.Unit) error {
			u.Records.Acts = append(u.Records.Acts, task.Act{At: u.Now, Kind: task.ActDetectStaleness,
				Actor: kernel.ActorOf(ctx, actor), Reason: cmp.Or(reason, kernel.NoReason),
				Data: fmt.Appendf(nil, `{"batch_size":%d}`, batch)})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return e.DetectStaleness(ctx, batch, dryRun)
}

func detection(began, ended time.Time, interval time.Duration, dryRun bool, found []Detected,
	err error,
) kernel.Detection {
	d := kernel.Detection{At: task.At(ended), Took: ended.Sub(began), Interval: interval, DryRun: dryRun,
		Detected: len(found),
		Err:      err}
	for _, f := range found {
		if f.Errored {
			d.Transitioned++
		}
	}
	return d
}

// detect surveys first, for watches on tasks that have become old.
func (e *Room) detect(ctx context.Context, batch int, dryRun bool) ([]Detected, error) {
	if _, err := e.Survey(ctx); err != nil {
		return nil, err
	}
	found, err := e.findStale(ctx, batch)
	if err != nil || dryRun || len(found) == 0 {
		return found, err
	}
	return e.transition(ctx, found)
}

const watchPage = 1000

// findStale returns up to batch stale tasks, and reschedules other watches.
func (e *Room) findStale(ctx context.Context, batch int) ([]Detected, error) {
	now := e.Now()
	var found []Detected
	var behind kernel.Watch
	for len(found) < batch {
		watches, err := e.watchStore.Watches(ctx, behind, now, watchPage)
		if err != nil {
			return nil, fmt.Errorf("look for stale tasks: %w", err)
		}
		if len(watches) == 0 {
			break
		}
		behind = watches[len(watches)-1]
		stale, err := e.checkStale(ctx, watches, now)
		if err != nil {
			return nil, err
		}
		found = append(found, stale...)
		if len(watches) < watchPage {
			break
		}
	}
	return found[:min(batch, len(found))], nil
}

// checkStale returns the stale tasks, schedules the next check of the others, and drops watches of settled and
// deleted tasks.
func (e *Room) checkStale(ctx context.Context, watches []kernel.Watch, now task.Instant) ([]Detected, error) {
	tasks, err := e.watched(ctx, watches)
	if err != nil {
		return nil, err
	}
	var live []*task.Task
	var of []kernel.Watch
	var moves []kernel.WatchMove
	for _, w := range watches {
		if t := tasks[w.Task]; t == nil || t.State.Settled() {
			moves = append(moves, kernel.WatchMove{Watch: w})
		} else {
			live, of = append(live, t), append(of, w)
		}
	}
	limits, defs, err := e.stateLimits(ctx, live, false, now)
	if err != nil {
		return nil, err
	}
	var stale []Detected
	for i, t := range live {
		if l := limits[i]; l.Health() == task.Stale {
			stale = append(stale, Detected{Task: t.ID, Template: defs[i], State: t.State, InState: l.Used,
				Threshold: l.Threshold, Limit: l, Action: WouldTransition,
				TraceParent: t.Meta.TraceParent, watch: of[i]})
			continue
		}
		moves = append(moves, kernel.WatchMove{Watch: of[i], Next: e.nextCheck(t, defs[i], limits[i], now)})
	}
	if len(moves) == 0 {
		return stale, nil
	}
	err = e.Transact(ctx, func(ctx context.Context, tx kernel.Tx) error { return e.watchStore.Rewatch(ctx, tx, moves) })
	if err != nil {
		err = fmt.Errorf("move watches: %w", err)
	}
	return stale, err
}

// watched leaves out deleted tasks.
func (e *Room) watched(ctx context.Context, watches []kernel.Watch) (map[task.ID]*task.Task, error) {
	ids := make([]task.ID, len(watches))
	for i, w := range watches {
		ids[i] = w.Task
	}
	tasks, err := e.Store.FindTasks(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("look at watched tasks: %w", err)
	}
	of := make(map[task.ID]*task.Task, len(tasks))
	for _, t := range tasks {
		of[t.ID] = t
	}
	return of, nil
}

// nextCheck returns 0 for never. A promise of progress may end early, so the next check is at most a threshold away.
func (e *Room) nextCheck(t *task.Task, def *task.Template, l task.Limit, now task.Instant) task.Instant {
	thresholds := e.Cfg.StalenessThresholds
	if l.Source == task.LimitOfPromise {
		next := now.Add(thresholds.Of(t.State, def.Lifecycle))
		if at := l.StaleAt(t, now); at != 0 {
			next = min(next, at)
		}
		return next
	}
	at := thresholds.LookAt(t, def.Lifecycle)
	if at != 0 && at <= now {
		at = now.Add(thresholds.Smallest(def.Lifecycle))
	}
	return at
}

// transition falls back to one transaction for each task, so that a bad task does not block the others.
func (e *Room) transition(ctx context.Context, found []Detected) ([]Detected, error) {
	done, err := e.transitionAll(ctx, found, true)
	if err == nil {
		return done, nil
	}
	if ctx.Err() != nil || task.CodeOf(err) == task.Unavailable {
		return nil, fmt.Errorf("put stale tasks in error: %w", err)
	}
	done = nil
	for _, d := range found {
		one, err := e.transitionOne(ctx, d)
		if err != nil {
			return done, err
		}
		done = append(done, one...)
	}
	return done, e.postponeChecks(ctx, done)
}

// postponeChecks keeps failed tasks from blocking the next batch.
func (e *Room) postponeChecks(ctx context.Context, done []Detected) error {
	next := e.Now().Add(e.Cfg.StalenessDetection.DetectionInterval)
	var moves []kernel.WatchMove
	for _, d := range done {
		if !d.Errored {
			moves = append(moves, kernel.WatchMove{Watch: d.watch, Next: next})
		}
	}
	if len(moves) == 0 {
		return nil
	}
	err := e.Transact(ctx, func(ctx context.Context, tx kernel.Tx) error { return e.watchStore.Rewatch(ctx, tx, moves) })
	if err != nil {
		err = fmt.Errorf("put off stale tasks: %w", err)
	}
	return err
}

func (e *Room) transitionOne(ctx context.Context, d Detected) ([]Detected, error) {
	done, err := e.transitionAll(ctx, []Detected{d}, true)
	if err == nil {
		return done, nil
	}
	if ctx.Err() != nil || task.CodeOf(err) == task.Unavailable {
		return nil, fmt.Errorf("put stale task %s in error: %w", d.Task, err)
	}
	if done, caseErr := e.transitionAll(ctx, []Detected{d}, false); caseErr == nil && len(done) == 1 && done[0].Case {
		done[0].Err = err
		return done, nil
	}
	d.Action, d.Err = TransitionFailed, err
	return []Detected{d}, nil
}

// transitionAll skips tasks that have moved on. Without intoError it only opens cases.
func (e *Room) transitionAll(ctx context.Context, found []Detected, intoError bool) ([]Detected, error) {
	var done []Detected
	err := e.Write(ctx, "staleness", func(u *kernel.Unit) error {
		done = nil
		ids := make([]task.ID, len(found))
		for i, d := range found {
			ids[i] = d.Task
		}
		if err := u.Rows.TakeTasks(ids); err != nil {
			return err
		}
		families := make([]kernel.Family, len(ids))
		for i, id := range ids {
			families[i] = kernel.Family{Task: id}
		}
		if err := u.Rows.Gather(families); err != nil {
			return err
		}
		var stale []Detected
		var openings []*Opening
		for _, d := range found {
			t := u.Rows.Tasks[d.Task]
			if t == nil || t.State != d.State || e.stateLimit(t, d.Template, u.Rows.Families[d.Task],
				u.Now).Health() != task.Stale {
				continue
			}
			if Of(u.E).OpensCase(t) {
				d.opening = stalenessOf(u, t, d)
				openings = append(openings, d.opening)
			}
			stale = append(stale, d)
		}
		if err := CaseSlot.Of(u).Open(openings); err != nil {
			return err
		}
		moves := make([]kernel.WatchMove, len(stale))
		for i := range stale {
			moves[i].Watch = stale[i].watch
			if err := transition(u, &stale[i], intoError); err != nil {
				return err
			}
		}
		done = stale
		if len(moves) == 0 || !intoError {
			return nil
		}
		return Of(u.E).watchStore.Rewatch(u.Ctx, u.Tx, moves)
	})
	return done, err
}

// stalenessOf must be called before changes. A cycle of dependencies explains more than time.
func stalenessOf(u *kernel.Unit, t *task.Task, d Detected) *Opening {
	o := &Opening{Task: t, State: t.State, Since: t.Since(u.Now), Reason: task.ReasonStaleness, Cause: task.CauseStale,
		Threshold: d.Threshold, Detail: d.message()}
	if cycle := d.Template.Cycle; cycle != "" && t.Counts.Active+t.Counts.Waiting == 0 {
		o.Reason, o.Cause, o.Detail = task.ReasonCycle, task.CauseCycle, cycle
	}
	return o
}

func (d Detected) message() string {
	threshold, why := d.Threshold, ""
	if l := d.Limit; l.Source == task.LimitOfPromise {
		why = fmt.Sprintf(", which is %s from the end of a promise (%s)", threshold-l.Prolonged, l.Promise)
		threshold = threshold.Round(time.Second)
	}
	return fmt.Sprintf("%s for %s; the threshold is %s%s", d.State, d.InState.Round(time.Second), threshold, why)
}

func transition(u *kernel.Unit, d *Detected, intoError bool) error {
	d.Case = d.opening != nil && d.opening.opened != nil
	d.Action = MovedOnly
	if !intoError {
		return nil
	}
	f := &task.Failure{Type: "staleness_timeout", Code: task.CodeStale, Retryable: true, Class: failure.Resource,
		Message: "the task was stale: " + d.message()}
	if err := kernel.GiveUp(u, u.Rows.Tasks[d.Task], f, "stale: "+d.message()); err != nil {
		return err
	}
	d.Errored = true
	if d.Action = MovedAndErrored; !d.Case {
		d.Action = ErroredOnly
	}
	return nil
}
