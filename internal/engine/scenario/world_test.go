package scenario_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/scheduler"
	"github.com/taskerhq/tasker/internal/host/upkeep"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

type world struct {
	ctx    context.Context
	store  engine.Database
	reopen func() engine.Database
	cfg    settings.Config
	now    time.Time // read by engines through clock, and changed by set
	moving sync.Mutex
	blobs  *blobs  // used if the settings have large_result_bytes
	byHand bool    // nothing runs AdvanceChildren and HandOverSignals beside the test
	roll   float64 // places jitter; the middle leaves delays unchanged
	seals  engine.Seals

	engine *engine.Engine
	upkeep *upkeep.Upkeep

	again func() error // starts the server again, unless reopen suffices

	planner *scheduler.Scheduler // see schedules
	rows    *rowsOfSchedules     // if the store has none
	keyless bool                 // a key is missing that values need
}

func newWorld(t *testing.T, s engine.Database, reopen func() engine.Database, cfg settings.Config) (*world, error) {
	w := &world{ctx: t.Context(), store: s, reopen: reopen, cfg: cfg, now: start, roll: 0.5, blobs: &blobs{}}
	return w, w.boot()
}

// newScripted is newWorld for a script, which advances child tasks and hands over signals after each command, so that
// the next command sees the result.
func newScripted(t *testing.T, s engine.Database, reopen func() engine.Database, cfg settings.Config) (*world, error) {
	w := &world{ctx: t.Context(), store: s, reopen: reopen, cfg: cfg, now: start, roll: 0.5, blobs: &blobs{},
		byHand: true}
	return w, w.boot()
}

// clock is safe for use by the engine beside the test.
func (w *world) clock() time.Time {
	w.moving.Lock()
	defer w.moving.Unlock()
	return w.now
}

func (w *world) set(now time.Time) {
	w.moving.Lock()
	defer w.moving.Unlock()
	w.now = now
}

func (w *world) boot() error {
	opts := engine.Options{
		Config: w.cfg,
		Now:    w.clock,
		Roll:   func() float64 { return w.roll },
		ByHand: w.byHand,
		Seals:  w.seals,
		Schemas: func(schema []byte) (engine.SchemaChecker, error) {
			return template.CompileSchema(schema)
		},
	}
	if w.cfg.Limits.LargeResultBytes > 0 {
		opts.Blobs = w.blobs
	}
	if d, ok := w.store.(dispatched); ok {
		opts.Dispatcher = counting{d.server.Open(), d.Database}
	}
	if r, ok := w.store.(reduced); ok {
		opts.Without = r.without
	}
	e, err := engine.New(w.ctx, w.store, opts)
	if err != nil {
		return err
	}
	if err := e.MaintainDispatch(w.ctx); err != nil {
		return err
	}
	w.engine, w.planner, w.upkeep = e, nil, upkeep.New(e, slog.New(slog.DiscardHandler))
	return nil
}

// restart is a crash of the server: a new engine without memory on the committed data.
func (w *world) restart() error {
	if w.again != nil {
		return w.again()
	}
	w.engine.FlushDispatch() // another test covers its loss
	w.store = w.reopen()
	return w.boot()
}

// giveTurns does what the engine does after the commit of a submission, and waits for turns that the engine itself is
// giving.
func (w *world) giveTurns() error {
	for deadline := time.Now().Add(patient); ; {
		n, _, err := w.engine.GiveTurns(w.ctx)
		if err != nil {
			return err
		}
		if n > 0 {
			continue
		}
		fresh, err := w.store.OrderingStore().FreshWaiting(w.ctx, 1)
		if err != nil || len(fresh) == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return errors.New("tasks that wait for their turn stay unknown: another transaction holds their key")
		}
	}
}

// admit lets steps pass limits, as the engine does after a commit.
func (w *world) admit() error {
	for {
		err := w.engine.AdmitAll(w.ctx)
		if err != nil {
			return err
		}
		some, err := w.store.GateStore().Signalled(w.ctx, w.engine.Now())
		if err != nil || !some {
			return err
		}
	}
}

func (w *world) sinceStart(i task.Instant) string {
	if i == 0 {
		return "-"
	}
	return "+" + i.Time().Sub(start).String()
}

// row is a stored step with its name.
type row struct {
	*task.Step
	name string
}

func (w *world) steps(id task.ID) (*task.Task, []row, error) {
	t, steps, err := w.engine.Steps(w.ctx, id)
	if err != nil {
		return nil, nil, err
	}
	def, err := w.engine.TemplateOf(w.ctx, t.DefID)
	if err != nil {
		return nil, nil, err
	}
	rows := make([]row, len(steps))
	for i, s := range steps {
		rows[i] = row{s, def.Steps[s.Ordinal-1].Name}
	}
	return t, rows, nil
}

func (w *world) step(id task.ID, name string) (row, error) {
	_, rows, err := w.steps(id)
	if err != nil {
		return row{}, err
	}
	i := slices.IndexFunc(rows, func(r row) bool { return r.name == name })
	if i < 0 {
		return row{}, fmt.Errorf("there is no step %q", name)
	}
	return rows[i], nil
}
