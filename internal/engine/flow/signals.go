package flow

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// One transaction stores a signal, a second one hands it to the steps that wait for its name and key. It is kept for
// later waits. A simultaneous signal and wait are both looked at after their commit, and the later look sees the
// other: see WaitStore. Upkeep completes the work of an ended process.

const (
	// signalsAtOnce bounds the steps in one transaction, freshSignals the signals, and signalBytesAtOnce their
	// payloads.
	signalsAtOnce     = 500
	freshSignals      = 100
	signalBytesAtOnce = 8 << 20
	countedFor        = 10 * time.Second
)

// SignalRequest is a signal to send. The ID "" gets a new one.
type SignalRequest struct {
	task.SignalName
	Name    string
	Key     string
	Payload []byte
}

// SendSignal stores a signal, and hands it to every waiting step of the namespace. It returns the signal without its
// payload, with the number of steps that took it, and whether it is new: a kept ID only resumes the handover.
//
// Invalid: every problem with its field. Conflict: the ID has another name or key. Exhausted: the namespace keeps
// Signals.MaxKept signals already.
func (e *Room) SendSignal(ctx context.Context, r SignalRequest) (s *task.Signal, created bool, err error) {
	r.Namespace = cmp.Or(r.Namespace, kernel.DefaultNamespace)
	if problems := e.checkSignal(&r); len(problems) > 0 {
		return nil, false, check.Refusal("the signal was not sent", problems)
	}
	if r.ID == "" {
		r.ID = e.Store.IDs().Take(e.Clock(), 1).String()
	}
	if err := e.admitSignal(ctx, r.SignalName); err != nil {
		return nil, false, err
	}
	err = e.Write(ctx, "send_signal", func(u *kernel.Unit) error {
		s = &task.Signal{SignalName: r.SignalName, Name: r.Name, Key: r.Key, Payload: r.Payload, ReceivedAt: u.Now,
			ExpiresAt: u.Now.Add(e.Cfg.Signals.Keep), Fresh: true}
		existing, err := e.SignalStore.AddSignal(u.Ctx, u.Tx, s)
		if created = existing == nil; !created {
			s = existing
		}
		return err
	})
	switch {
	case err != nil:
		return nil, false, err
	case s.Name != r.Name || s.Key != r.Key:
		return nil, false, &task.Error{Code: task.Conflict, Hint: "give each signal an ID of its own, or none",
			Message: fmt.Sprintf("the ID %s is that of a signal with another name or key", r.ID)}
	case s.Fresh:
		s = e.handOver(ctx, s)
	}
	s.Payload = nil
	return s, created, nil
}

// Signals returns a page of kept signals without payloads, the first to expire first, and whether there are more. The
// caller restricts the namespaces. Invalid: a limit outside of 1 to Limits.PageItems.
func (e *Room) Signals(ctx context.Context, f kernel.SignalFilter) (list []task.Signal, more bool, err error) {
	if err := check.Page(f.Limit, 0, e.Cfg.Limits.PageItems); err != nil {
		return nil, false, err
	}
	limit := f.Limit
	f.Kept, f.Limit = e.Now(), limit+1
	if list, err = e.SignalStore.ListSignals(ctx, f); err != nil {
		return nil, false, fmt.Errorf("list signals: %w", err)
	}
	if more = len(list) > limit; more {
		list = list[:limit]
	}
	return list, more, nil
}

// The signal is stored: upkeep repeats the handover after an error.
func (e *Room) handOver(ctx context.Context, s *task.Signal) *task.Signal {
	for more := true; more; {
		err := e.Write(ctx, "hand_over_signal", func(u *kernel.Unit) (err error) {
			more, err = handOver{u}.run([]task.Signal{*s}, nil)
			return err
		})
		if err != nil {
			return s
		}
	}
	if now, err := e.SignalStore.FindSignal(ctx, s.SignalName); err == nil && now != nil {
		return now
	}
	return s
}

func (e *Room) checkSignal(r *SignalRequest) (problems []task.Problem) {
	bad := func(at, fault string) {
		if fault != "" {
			problems = append(problems, task.Problem{Location: at, Message: fault})
		}
	}
	bad("/namespace", task.TextFault(r.Namespace, task.MaxName))
	bad("/name", task.SignalFault(r.Name))
	bad("/key", task.SignalFault(r.Key))
	bad("/payload", check.Payload(r.Payload, e.Cfg.Limits.PayloadBytes))
	if r.ID != "" {
		bad("/signal_id", task.SignalFault(r.ID))
	}
	return problems
}

// signalCounts are the last counts by namespace, plus signals sent here since.
type signalCounts struct {
	mu sync.Mutex
	of map[string]signalCount
}

type signalCount struct {
	n  int
	at task.Instant
}

// admitSignal counts now and then, and before a refusal; other processes may exceed the bound in between.
func (e *Room) admitSignal(ctx context.Context, name task.SignalName) error {
	c, now, limit := &e.signalCounts, e.Now(), e.Cfg.Signals.MaxKept
	c.mu.Lock()
	known, ok := c.of[name.Namespace]
	known.n++
	if ok = ok && known.n <= limit && now < known.at.Add(countedFor); ok {
		c.of[name.Namespace] = known
	}
	c.mu.Unlock()
	if ok {
		return nil
	}
	n, err := e.SignalStore.CountSignals(ctx, name.Namespace, now, limit)
	if err != nil {
		return fmt.Errorf("count signals: %w", err)
	}
	c.mu.Lock()
	if c.of == nil {
		c.of = map[string]signalCount{}
	}
	kernel.MakeRoom(c.of, 1000)
	c.of[name.Namespace] = signalCount{n + 1, now}
	c.mu.Unlock()
	if n < limit {
		return nil
	}
	if s, err := e.SignalStore.FindSignal(ctx, name); err != nil || s != nil && s.ExpiresAt > now {
		return err // already kept
	}
	return &task.Error{Code: task.Exhausted,
		Message: fmt.Sprintf("the namespace %q keeps %d signals, the most it may", name.Namespace, n),
		Hint:    "signals are kept for engine.signals.keep; send fewer, or raise engine.signals.max_kept"}
}

type handOver struct{ u *kernel.Unit }

// run reports whether there is more to do for these signals and fresh waits.
func (h handOver) run(signals []task.Signal, waits []kernel.SignalMatch) (more bool, err error) {
	u := h.u
	matches, err := Of(u.E).waitStore.Awaited(u.Ctx, u.Tx, signals, signalsAtOnce)
	if err != nil {
		return false, err
	}
	full := len(matches) == signalsAtOnce
	var known []kernel.SignalMatch
	for _, m := range waits {
		if m.Signal.ID == "" {
			known = append(known, m)
		} else {
			matches = append(matches, m)
		}
	}
	taken, all, err := h.take(matches)
	if err != nil {
		return false, err
	}
	more = full || !all
	marks := map[task.SignalName]kernel.SignalMark{}
	for name, n := range taken {
		marks[name] = kernel.SignalMark{SignalName: name, Taken: n}
	}
	for i := range signals {
		name := signals[i].SignalName
		marks[name] = kernel.SignalMark{SignalName: name, Taken: taken[name], Known: !more}
	}
	if err := Of(u.E).waitStore.MarkWaitsKnown(u.Ctx, u.Tx, known); err != nil {
		return false, err
	}
	return more, u.E.SignalStore.MarkSignals(u.Ctx, u.Tx, slices.SortedFunc(maps.Values(marks), compareMarks))
}

// compareMarks is the order in which all transactions lock signals.
func compareMarks(a, b kernel.SignalMark) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ID, b.ID))
}

// Payloads become the results of waiting steps. take counts the steps by signal, and reports whether it processed
// all.
func (h handOver) take(matches []kernel.SignalMatch) (taken map[task.SignalName]int64, all bool, err error) {
	if len(matches) == 0 {
		return nil, true, nil
	}
	var ids []task.ID
	var names []task.SignalName
	for _, m := range matches {
		ids, names = append(ids, m.Step), append(names, m.Signal)
	}
	slices.SortFunc(ids, kernel.CompareIDs)
	signals, err := h.signals(names)
	if err != nil {
		return nil, false, err
	}
	works, waits, err := h.waiting(slices.Compact(ids))
	if err != nil {
		return nil, false, err
	}
	taken, size := map[task.SignalName]int64{}, 0
	for _, m := range matches {
		w, s, wait := works[m.Step], signals[m.Signal], waits[m.Step]
		switch {
		case w.Step == nil || w.Step.State != task.StepWaiting:
			waitSlot.Of(h.u).over(m.Step)
			continue
		case s == nil || wait == nil || !wait.Takes(s):
			continue // it waits for another one now
		case size > 0 && size+s.Bytes > signalBytesAtOnce:
			return taken, false, nil
		}
		size += s.Bytes
		taken[m.Signal]++
		if err := (kernel.Control{U: h.u}).Finish(w, s.Payload); err != nil {
			return nil, false, err
		}
	}
	return taken, true, nil
}

func (h handOver) signals(names []task.SignalName) (map[task.SignalName]*task.Signal, error) {
	slices.SortFunc(names, func(a, b task.SignalName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ID, b.ID))
	})
	list, err := h.u.E.SignalStore.SignalsNamed(h.u.Ctx, h.u.Tx, slices.Compact(names))
	found := make(map[task.SignalName]*task.Signal, len(list))
	for i := range list {
		found[list[i].SignalName] = &list[i]
	}
	return found, err
}

func (h handOver) waiting(ids []task.ID) (map[task.ID]kernel.Work, map[task.ID]*task.StepWait, error) {
	locked, err := h.u.Rows.Load(ids)
	if err != nil {
		return nil, nil, err
	}
	list, err := Of(h.u.E).waitStore.WaitsOf(h.u.Ctx, h.u.Tx, ids)
	works, waits := make(map[task.ID]kernel.Work, len(ids)), make(map[task.ID]*task.StepWait, len(ids))
	for i, w := range locked {
		works[ids[i]] = w
	}
	for i := range list {
		waits[list[i].Step] = &list[i]
	}
	return works, waits, err
}

// WaitsOf returns the waits of steps, by step.
func (e *Room) WaitsOf(ctx context.Context, steps []*task.Step) (map[task.ID]task.StepWait, error) {
	var ids []task.ID
	for _, s := range steps {
		if s.State == task.StepWaiting {
			ids = append(ids, s.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := e.WaitReads.FindWaits(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read what steps wait for: %w", err)
	}
	waits := make(map[task.ID]task.StepWait, len(list))
	for _, w := range list {
		waits[w.Step] = w
	}
	return waits, nil
}
