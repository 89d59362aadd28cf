package storetest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func signalCases() []testCase {
	return []testCase{
		{"OneForEachID", signalOnce},
		{"AgainOnceExpired", signalAgain},
		{"Matched", signalMatched},
		{"FirstKeptOneCounts", signalKept},
		{"TooLate", signalTooLate},
		{"Marked", signalMarked},
		{"Dropped", signalDropped},
		{"WaitsChange", waitsChange},
		{"WaitsListed", waitsListed},
		{"Listed", signalsListed},
	}
}

// message returns a fresh signal that is kept for an hour.
func (f *fixture) message(namespace, id, key, payload string) task.Signal {
	s := task.Signal{SignalName: task.SignalName{Namespace: namespace, ID: id}, Name: "paid", Key: key, ReceivedAt: f.now,
		ExpiresAt: f.now.Add(time.Hour), Fresh: true, Bytes: len(payload)}
	if payload != "" {
		s.Payload = []byte(payload)
	}
	return s
}

func (f *fixture) addSignals(list ...task.Signal) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		for i := range list {
			existing, err := f.store.SignalStore().AddSignal(ctx, tx, &list[i])
			if existing != nil {
				f.Errorf("%s is there already", list[i].ID)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// wait returns a fresh wait of a new step for a signal with a key.
func (f *fixture) wait(key string) task.StepWait {
	f.Helper()
	j := f.build(f.single, 0)
	f.insert(j)
	return task.StepWait{Step: j.steps[0].ID, Task: j.steps[0].TaskID, Namespace: "shop", Template: "order",
		StepName: "pay",
		Kind:     task.WaitSignal, Name: "paid", Key: key, At: f.now, Until: f.now.Add(time.Minute), Fresh: true}
}

func (f *fixture) changeWaits(put []task.StepWait, drop ...task.ID) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.WaitStore().ChangeWaits(ctx, tx, put, drop)
	})
}

func signalOnce(f *fixture) {
	s := f.message("shop", "1", "a", `{"b": 1,  "ä": "\u0000"}`)
	f.addSignals(s, f.message("büro", "1", "a", ""))
	f.write(func(ctx context.Context, tx engine.Tx) error {
		again := f.message("shop", "1", "other", "2")
		existing, err := f.store.SignalStore().AddSignal(ctx, tx, &again)
		bare := s
		bare.Payload = nil
		f.equal("existing", existing, &bare)
		return err
	})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := f.store.SignalStore().SignalsNamed(ctx, tx, []task.SignalName{s.SignalName, {Namespace: "shop", ID: "2"}})
		f.equal("with its payload", got, []task.Signal{s})
		return err
	})
	found, err := f.store.SignalStore().FindSignal(f.Context(), task.SignalName{Namespace: "shop", ID: "none"})
	if err != nil || found != nil {
		f.Errorf("found %+v, %v", found, err)
	}
	n, err := f.store.SignalStore().CountSignals(f.Context(), "shop", f.now.Add(time.Hour-1000), 10)
	if err != nil || n != 1 {
		f.Errorf("counted %d, %v", n, err)
	}
	n, err = f.store.SignalStore().CountSignals(f.Context(), "shop", f.now.Add(time.Hour), 10)
	if err != nil || n != 0 {
		f.Errorf("counted %d expired ones, %v", n, err)
	}
}

// An ID is known while its signal is kept. Then the next signal with it replaces it.
func signalAgain(f *fixture) {
	first := f.message("shop", "1", "a", "1")
	f.addSignals(first)
	again := f.message("shop", "1", "b", `{"n": 2}`)
	again.ReceivedAt, again.ExpiresAt = first.ExpiresAt-1, first.ExpiresAt.Add(time.Hour)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		existing, err := f.store.SignalStore().AddSignal(ctx, tx, &again)
		f.equal("kept", existing != nil, true)
		return err
	})
	again.ReceivedAt++
	f.addSignals(again)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := f.store.SignalStore().SignalsNamed(ctx, tx, []task.SignalName{first.SignalName})
		f.equal("the new one", got, []task.Signal{again})
		return err
	})
}

// A wait takes no signal that arrives at its end or later.
func signalTooLate(f *fixture) {
	w := f.wait("a")
	f.changeWaits([]task.StepWait{w})
	late, early := f.message("shop", "1", "a", "1"), f.message("shop", "2", "a", "2")
	late.ReceivedAt = w.Until
	early.ReceivedAt = w.Until - 1
	match := func(s task.Signal) (awaited int, id string) {
		f.addSignals(s)
		f.write(func(ctx context.Context, tx engine.Tx) error {
			list, err := f.store.WaitStore().Awaited(ctx, tx, []task.Signal{s}, 10)
			if err != nil {
				return err
			}
			m, err := f.store.WaitStore().SignalFor(ctx, tx, w.Step)
			awaited, id = len(list), m.Signal.ID
			return err
		})
		return awaited, id
	}
	n, id := match(late)
	f.equal("waits for the late one", []any{n, id}, []any{0, ""})
	n, id = match(early)
	f.equal("waits for the early one", []any{n, id}, []any{1, "2"})
}

func signalMatched(f *fixture) {
	long := strings.Repeat("k", task.MaxSignal)
	a, b, c := f.wait(long), f.wait(long), f.wait("other")
	approval := f.wait(long)
	approval.Kind, approval.Fresh = task.WaitApproval, false
	f.changeWaits([]task.StepWait{c, b, a, approval})
	s, t := f.message("shop", "1", long, "1"), f.message("elsewhere", "1", long, "")
	f.addSignals(s, t)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		fresh, err := f.store.SignalStore().FreshSignals(ctx, tx, 10)
		if err != nil {
			return err
		}
		bare := s
		bare.Payload = nil
		slices.SortFunc(fresh, func(a, b task.Signal) int { return -strings.Compare(a.Namespace, b.Namespace) })
		f.equal("fresh signals", fresh, []task.Signal{bare, t})
		got, err := f.store.WaitStore().Awaited(ctx, tx, fresh, 10)
		if err != nil {
			return err
		}
		f.equal("awaited", got, []engine.SignalMatch{{Step: a.Step, At: a.At, Signal: s.SignalName},
			{Step: b.Step, At: b.At, Signal: s.SignalName}})
		got, err = f.store.WaitStore().Awaited(ctx, tx, fresh, 1)
		f.equal("the first", got, []engine.SignalMatch{{Step: a.Step, At: a.At, Signal: s.SignalName}})
		return err
	})
}

func signalKept(f *fixture) {
	w, late := f.wait("a"), f.wait("a")
	late.At = f.now.Add(2 * time.Hour)
	first, second := f.message("shop", "9", "a", ""), f.message("shop", "1", "a", "")
	second.ReceivedAt++
	second.ExpiresAt = f.now.Add(3 * time.Hour)
	f.addSignals(second, first)
	approval := f.wait("a")
	approval.Kind, approval.Fresh = task.WaitApproval, false
	f.changeWaits([]task.StepWait{late, w, approval})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := f.store.WaitStore().FreshWaits(ctx, tx, 10)
		if err != nil {
			return err
		}
		f.equal("fresh waits", got, []engine.SignalMatch{{Step: w.Step, At: w.At, Signal: first.SignalName},
			{Step: late.Step, At: late.At, Signal: second.SignalName}})
		got, err = f.store.WaitStore().FreshWaits(ctx, tx, 1)
		f.equal("the first", got, []engine.SignalMatch{{Step: w.Step, At: w.At, Signal: first.SignalName}})
		if err != nil {
			return err
		}
		// Another signal does not lead to earlier or expired ones.
		got, err = f.store.WaitStore().Awaited(ctx, tx, []task.Signal{second}, 10)
		f.equal("awaited", got, []engine.SignalMatch{{Step: w.Step, At: w.At, Signal: first.SignalName},
			{Step: late.Step, At: late.At, Signal: second.SignalName}})
		if err != nil {
			return err
		}
		got = nil
		for _, step := range []task.ID{late.Step, approval.Step} {
			m, err := f.store.WaitStore().SignalFor(ctx, tx, step)
			if err != nil {
				return err
			}
			got = append(got, m)
		}
		f.equal("signals of steps", got, []engine.SignalMatch{{Step: late.Step, At: late.At, Signal: second.SignalName}, {}})
		// A wait that began at another time stays fresh.
		return f.store.WaitStore().MarkWaitsKnown(ctx, tx, []engine.SignalMatch{{Step: w.Step, At: w.At},
			{Step: late.Step, At: w.At}})
	})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := f.store.WaitStore().FreshWaits(ctx, tx, 10)
		f.equal("still fresh", got, []engine.SignalMatch{{Step: late.Step, At: late.At, Signal: second.SignalName}})
		return err
	})
}

func signalMarked(f *fixture) {
	a, b := f.message("shop", "1", "a", ""), f.message("shop", "2", "a", "")
	f.wantFresh(false)
	f.addSignals(a, b)
	f.wantFresh(true)
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.SignalStore().MarkSignals(ctx, tx, []engine.SignalMark{{SignalName: a.SignalName, Taken: 3},
			{SignalName: b.SignalName, Taken: 1, Known: true}})
	})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		return f.store.SignalStore().MarkSignals(ctx, tx,
			[]engine.SignalMark{{SignalName: a.SignalName, Taken: 2, Known: true}})
	})
	a.Taken, a.Fresh = 5, false
	got, err := f.store.SignalStore().FindSignal(f.Context(), a.SignalName)
	f.equal("marked", got, &a)
	if err != nil {
		f.Fatal(err)
	}
	f.wantFresh(false)
}

func (f *fixture) wantFresh(want bool) {
	f.Helper()
	got, err := f.store.WaitStore().AnyFresh(f.Context())
	if err != nil || got != want {
		f.Errorf("any fresh: %t, %v; want %t", got, err, want)
	}
}

func signalDropped(f *fixture) {
	a, b, c := f.message("shop", "1", "a", ""), f.message("shop", "2", "a", ""), f.message("shop", "3", "a", "")
	a.Fresh, b.Fresh, c.ExpiresAt = false, false, c.ExpiresAt.Add(-time.Minute)
	b.ExpiresAt = b.ExpiresAt.Add(time.Second)
	d, e := f.message("shop", "4", "d", ""), f.message("shop", "5", "e", "")
	d.Fresh, d.ExpiresAt = false, d.ExpiresAt.Add(-2*time.Minute)
	e.Fresh, e.ExpiresAt = false, e.ExpiresAt.Add(-2*time.Minute)
	f.addSignals(a, b, c, d, e)
	late := f.wait("e")
	late.At = e.ExpiresAt
	f.changeWaits([]task.StepWait{f.wait("d"), late})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		n, err := f.store.SignalStore().DropSignals(ctx, tx, f.now.Add(2*time.Hour), 2)
		f.equal("dropped", n, 2)
		return err
	})
	// 3 is fresh, and a step waits for 4; the step that waits for 5's key began after its end.
	for id, want := range map[string]bool{"1": false, "2": true, "3": true, "4": true, "5": false} {
		s, err := f.store.SignalStore().FindSignal(f.Context(), task.SignalName{Namespace: "shop", ID: id})
		if err != nil || (s != nil) != want {
			f.Errorf("signal %s: %+v, %v", id, s, err)
		}
	}
}

func waitsChange(f *fixture) {
	a, b := f.wait("a"), f.wait("b")
	f.changeWaits([]task.StepWait{a, b})
	again := a
	again.Kind, again.Name, again.Key, again.At, again.Until, again.Fresh = task.WaitApproval, "", "", a.At+5, 0, false
	f.changeWaits([]task.StepWait{again}, b.Step)
	f.wantFresh(false)
	got, err := f.store.WaitStore().FindWaits(f.Context(), []task.ID{b.Step, a.Step})
	if err != nil {
		f.Fatal(err)
	}
	f.equal("waits", got, []task.StepWait{again})
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := f.store.WaitStore().WaitsOf(ctx, tx, []task.ID{a.Step})
		f.equal("in a transaction", got, []task.StepWait{again})
		return err
	})
}

func waitsListed(f *fixture) {
	a, b, c := f.wait("a"), f.wait("b"), f.wait("c")
	for _, w := range []*task.StepWait{&a, &b, &c} {
		w.Kind, w.Name, w.Key, w.Fresh = task.WaitApproval, "", "", false
	}
	c.At, c.Namespace, c.Template, c.StepName = c.At-1, "büro", "brief", "sign"
	signal := f.wait("d")
	f.changeWaits([]task.StepWait{b, a, c, signal})
	for name, want := range map[string]struct {
		filter engine.WaitFilter
		list   []task.StepWait
	}{
		"All":       {engine.WaitFilter{}, []task.StepWait{c, a, b}},
		"First":     {engine.WaitFilter{Limit: 1}, []task.StepWait{c}},
		"After":     {engine.WaitFilter{After: engine.WaitPosition{At: a.At, Step: a.Step}}, []task.StepWait{b}},
		"Namespace": {engine.WaitFilter{Namespaces: []string{"none", "büro"}}, []task.StepWait{c}},
		"Template":  {engine.WaitFilter{Template: "order"}, []task.StepWait{a, b}},
		"Step":      {engine.WaitFilter{StepName: "sign"}, []task.StepWait{c}},
		"Task":      {engine.WaitFilter{Task: b.Task}, []task.StepWait{b}},
		"Since":     {engine.WaitFilter{Since: a.At}, []task.StepWait{a, b}},
		"Until":     {engine.WaitFilter{Until: a.At}, []task.StepWait{c}},
		"Signals":   {engine.WaitFilter{Kind: task.WaitSignal}, []task.StepWait{signal}},
	} {
		if want.filter.Kind == "" {
			want.filter.Kind = task.WaitApproval
		}
		if want.filter.Limit == 0 {
			want.filter.Limit = 10
		}
		got, err := f.store.WaitStore().ListWaits(f.Context(), want.filter)
		if err != nil {
			f.Fatal(err)
		}
		f.equal(name, got, want.list)
	}
	counts, err := f.store.WaitStore().CountWaits(f.Context(), 2)
	if err != nil {
		f.Fatal(err)
	}
	f.equal("counts", counts, map[task.WaitKind]int{task.WaitApproval: 2, task.WaitSignal: 1, task.WaitTime: 0})
}

func signalsListed(f *fixture) {
	a, b, c, gone := f.message("shop", "1", "a", "1"), f.message("shop", "2", "b", ""), f.message("büro", "1", "a", ""),
		f.message("shop", "3", "a", "")
	c.ExpiresAt, c.Name, c.Taken, c.ReceivedAt = c.ExpiresAt-1, "signed", 2, c.ReceivedAt-1
	gone.ExpiresAt = f.now
	f.addSignals(b, a, c, gone)
	a.Payload = nil
	after := func(s task.Signal) engine.SignalPosition {
		return engine.SignalPosition{ExpiresAt: s.ExpiresAt, SignalName: s.SignalName}
	}
	for name, want := range map[string]struct {
		filter engine.SignalFilter
		list   []task.Signal
	}{
		"All":       {engine.SignalFilter{}, []task.Signal{c, a, b}},
		"First":     {engine.SignalFilter{Limit: 1}, []task.Signal{c}},
		"After":     {engine.SignalFilter{After: after(a)}, []task.Signal{b}},
		"AfterTime": {engine.SignalFilter{After: after(c)}, []task.Signal{a, b}},
		"Namespace": {engine.SignalFilter{Namespaces: []string{"none", "büro"}}, []task.Signal{c}},
		"Name":      {engine.SignalFilter{Name: "paid"}, []task.Signal{a, b}},
		"Key":       {engine.SignalFilter{Key: "a"}, []task.Signal{c, a}},
		"Since":     {engine.SignalFilter{Since: a.ReceivedAt}, []task.Signal{a, b}},
		"Until":     {engine.SignalFilter{Until: a.ReceivedAt}, []task.Signal{c}},
		"Untaken":   {engine.SignalFilter{Untaken: true}, []task.Signal{a, b}},
		"Kept":      {engine.SignalFilter{Kept: c.ExpiresAt}, []task.Signal{a, b}},
	} {
		if want.filter.Kept == 0 {
			want.filter.Kept = f.now
		}
		if want.filter.Limit == 0 {
			want.filter.Limit = 10
		}
		got, err := f.store.SignalStore().ListSignals(f.Context(), want.filter)
		if err != nil {
			f.Fatal(err)
		}
		f.equal(name, got, want.list)
	}
}
