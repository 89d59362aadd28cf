package scenario_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/model/template"
)

// TestSignalRace: signals arrive while steps begin to wait, on two nodes where possible. No signal misses a step and
// no step takes two, although each looks only at fresh rows.
func TestSignalRace(t *testing.T) {
	t.Parallel()
	for _, k := range bare {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			nodes, store := nodesOf(t, k)
			(&signalRace{t: t, nodes: nodes, store: store}).run()
		})
	}
}

type signalRace struct {
	t     *testing.T
	nodes []*engine.Engine
	store engine.Database
	mu    sync.Mutex
	tasks []task.ID
}

const signalYAML = `{name: order, version: "1", steps: [{name: paid, wait: {signal: paid, key: "{{id}}", timeout: 1h}}]}`

const tasksOfKey = 3

func (r *signalRace) run() {
	def, err := template.Parse("t.yaml", []byte(signalYAML), r.nodes[0].Level)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, _, err := r.nodes[0].RegisterTemplate(r.t.Context(), def, engine.Registration{}); err != nil {
		r.t.Fatal(err)
	}
	keys := 60
	if testing.Short() {
		keys = 20
	}
	ctx, stop := context.WithTimeout(r.t.Context(), 2*time.Minute)
	defer stop()
	var all, loops sync.WaitGroup
	loopsCtx, end := context.WithCancel(ctx)
	for _, e := range r.nodes {
		loops.Go(func() { r.fire(loopsCtx, e) })
	}
	for n := range keys {
		key := fmt.Sprint(n)
		for i := range tasksOfKey {
			all.Go(func() { r.submit(ctx, r.nodes[i%len(r.nodes)], key) })
		}
		all.Go(func() {
			r.send(ctx, r.nodes[n%len(r.nodes)], key)
			r.send(ctx, r.nodes[(n+1)%len(r.nodes)], key)
		})
	}
	all.Wait()
	r.wait(ctx, keys*tasksOfKey)
	end()
	loops.Wait()
	for n := range keys {
		s, err := r.store.SignalStore().FindSignal(ctx, task.SignalName{Namespace: "default", ID: "id" + fmt.Sprint(n)})
		if err != nil || s == nil || s.Taken != tasksOfKey {
			r.t.Errorf("signal %d: %+v, %v; want it taken by %d steps", n, s, err, tasksOfKey)
		}
	}
}

func (r *signalRace) fire(ctx context.Context, e *engine.Engine) {
	for ctx.Err() == nil {
		if _, err := e.FireTimers(ctx, 3); err != nil && ctx.Err() == nil {
			r.t.Errorf("timers: %v", err)
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (r *signalRace) submit(ctx context.Context, e *engine.Engine, key string) {
	sub := engine.Submission{Name: "order", Context: []byte(`{"id":"` + key + `"}`)}
	receipts, err := e.Submit(ctx, []engine.Submission{sub}, false)
	if err != nil {
		r.t.Errorf("submit: %v", err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tasks = append(r.tasks, receipts[0].ID)
}

func (r *signalRace) send(ctx context.Context, e *engine.Engine, key string) {
	_, _, err := e.SendSignal(ctx, engine.SignalRequest{SignalName: task.SignalName{ID: "id" + key}, Name: "paid",
		Key: key, Payload: []byte(key)})
	if err != nil {
		r.t.Errorf("send: %v", err)
	}
}

// wait waits until all tasks are complete. Each hand-over after a commit takes its fresh rows; nobody else looks at
// them.
func (r *signalRace) wait(ctx context.Context, want int) {
	for {
		done := 0
		for _, id := range r.tasks {
			k, err := r.store.FindTask(ctx, id)
			if err != nil {
				r.t.Fatal(err)
			}
			if k.State == task.Complete {
				done++
			}
		}
		if done == want {
			return
		}
		if ctx.Err() != nil {
			r.t.Fatalf("%d of %d tasks got their signal", done, want)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestSignalCrash: a process ends between the commit of a signal or waiting step and the hand-over. The next process
// makes up for it.
func TestSignalCrash(t *testing.T) {
	t.Parallel()
	for _, k := range stores {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			s, reopen := k.open(t)
			w, err := newWorld(t, s, reopen, settings.Config{})
			if err != nil {
				t.Fatal(err)
			}
			signalCrash(t, w)
		})
	}
}

func signalCrash(t *testing.T, w *world) {
	def, err := template.Parse("t.yaml", []byte(signalYAML), w.engine.Level)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.engine.RegisterTemplate(w.ctx, def, engine.Registration{}); err != nil {
		t.Fatal(err)
	}
	receipts, err := w.engine.Submit(w.ctx, []engine.Submission{{Name: "order", Context: []byte(`{"id":"a"}`)},
		{Name: "order", Context: []byte(`{"id":"b"}`)}}, false)
	if err != nil {
		t.Fatal(err)
	}
	store := func(key string) {
		s := &task.Signal{SignalName: task.SignalName{Namespace: "default", ID: key}, Name: "paid", Key: key, Fresh: true,
			ReceivedAt: task.At(start), ExpiresAt: task.At(start.Add(time.Hour))}
		if err := w.store.Write(w.ctx, func(ctx context.Context, tx engine.Tx) error {
			_, err := w.store.SignalStore().AddSignal(ctx, tx, s)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	store("a")
	if err := w.upkeep.RunOnce(w.ctx); err != nil {
		t.Fatal(err)
	}
	store("b")
	w.set(start.Add(2 * time.Hour)) // neither time nor retention can lose it
	if err := w.restart(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Retain(w.ctx); err != nil {
		t.Fatal(err)
	}
	if err := w.upkeep.RunOnce(w.ctx); err != nil {
		t.Fatal(err)
	}
	for i, r := range receipts {
		if k, _, err := w.steps(r.ID); err != nil || k.State != task.Complete {
			t.Errorf("task %d is %+v, %v", i, k, err)
		}
	}
}
