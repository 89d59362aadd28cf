package scenario_test

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/limit"
	"github.com/taskerhq/tasker/internal/model/task"
)

// signalTemplates wait for signals as first steps, behind others, with and without a time-out, and in child tasks.
func signalTemplates(none task.Retry) []*task.Template {
	return []*task.Template{
		{Name: "called", Steps: []task.StepSpec{
			{Name: "paid", Wait: &task.Wait{Signal: "paid", Key: "{{key}}", Timeout: 10 * time.Minute}},
			{Name: "b", Handler: "h", Dependencies: []string{"paid"}, Retry: none},
			{Name: "sent", Dependencies: []string{"b"}, Wait: &task.Wait{Signal: "sent", Key: "{{key}}"}},
			{Name: "soft", Dependencies: []string{"b"}, Wait: &task.Wait{Signal: "paid", Key: "{{key}}",
				Timeout: 30 * time.Second, OnTimeout: task.EndContinues}},
			{Name: "end", Handler: "i", Dependencies: []string{"sent", "soft"}, Retry: none}}},
		{Name: "item", Steps: []task.StepSpec{
			{Name: "paid", Wait: &task.Wait{Signal: "paid", Key: "{{item}}", Timeout: time.Minute}}}},
		{Name: "calls", Steps: []task.StepSpec{
			{Name: "each", Tasks: &task.ChildSpec{Items: "context.items", Template: "item", Concurrency: 2}},
			{Name: "b", Handler: "h", Dependencies: []string{"each"}, Retry: none}}},
	}
}

type sentSignal struct {
	task.SignalName
	name, key, payload string
	at, until          task.Instant
	hidden             bool // encrypted with the key that a server may lack
}

// takenBy reports whether a step takes the signal.
func (s sentSignal) takenBy(w waitedFor) bool {
	return s.Namespace == engine.DefaultNamespace && s.name == w.name && s.key == w.key && s.until > w.began &&
		(w.ends == 0 || s.at < w.ends)
}

// waitedFor is the wait of a step; a zero end means without end.
type waitedFor struct {
	name, key   string
	began, ends task.Instant
}

func waitOf(wait *task.Wait, key string, began task.Instant) waitedFor {
	ends, _ := wait.Ends(began, "") // only a time can be wrong
	return waitedFor{wait.Signal, key, began, ends}
}

// signal sends a signal, new or again, for waiting steps, later steps or none.
func (m *model) signal(o op) error {
	s := sentSignal{name: []string{"paid", "paid", "sent", "other"}[o.n[0]%4], key: fmt.Sprint(o.n[1] % 5)}
	s.Namespace = engine.DefaultNamespace
	if o.n[2]%8 == 0 {
		s.Namespace = "other"
	}
	if o.n[3]%3 == 0 {
		s.ID = fmt.Sprint("s", o.n[3]/3%5)
	}
	return m.send(s)
}

// send sends at a separate moment, which defines the order, and checks the answer.
func (m *model) send(s sentSignal) error {
	if _, err := both(m, func(w *world) (any, error) { return nil, w.admit() }); err != nil {
		return err // background work needs the same time in both worlds
	}
	for _, w := range m.worlds {
		w.set(w.now.Add(time.Millisecond))
	}
	s.at, s.payload = m.worlds[0].engine.Now(), fmt.Sprintf(`{"signal":%d}`, len(m.signals))
	created := false
	got, err := both(m, func(w *world) (sig *task.Signal, err error) {
		sig, created, err = w.engine.SendSignal(w.ctx, engine.SignalRequest{SignalName: s.SignalName, Name: s.name,
			Key: s.key, Payload: []byte(s.payload)})
		return sig, err
	}, task.Conflict)
	before := m.sent(s.SignalName)
	switch {
	case err != nil:
		return err
	case before != nil && got == nil && (before.name != s.name || before.key != s.key):
		return nil // the ID is that of another signal
	case got == nil:
		return fmt.Errorf("the signal %+v was refused", s)
	case !created && (before == nil || got.ReceivedAt != before.at):
		return fmt.Errorf("the signal %+v is said to be known", s)
	case created && before != nil && before.until >= s.at:
		return fmt.Errorf("the signal %+v is new, and was sent before as %+v", s, *before)
	case created:
		s.SignalName, s.until, s.hidden = got.SignalName, got.ExpiresAt, !m.worlds[0].keyless
		m.signals = append(m.signals, s)
	}
	return nil
}

func (m *model) sent(name task.SignalName) *sentSignal {
	for i := len(m.signals) - 1; i >= 0; i-- {
		if m.signals[i].SignalName == name {
			return &m.signals[i]
		}
	}
	return nil
}

// firstFor returns the first signal that was kept when a step began to wait, or came later.
func (m *model) firstFor(w waitedFor) *sentSignal {
	var best *sentSignal
	for i := range m.signals {
		s := &m.signals[i]
		if s.takenBy(w) && (best == nil || s.at < best.at) {
			best = s
		}
	}
	return best
}

func (w *world) addWaits(one *taskPicture) (err error) {
	ids := make([]task.ID, len(one.Steps))
	for i, s := range one.Steps {
		ids[i] = s.ID
	}
	one.Waits, err = w.store.WaitStore().FindWaits(w.ctx, ids)
	slices.SortFunc(one.Waits, func(a, b task.StepWait) int { return bytes.Compare(a.Step[:], b.Step[:]) })
	return err
}

// signalsStored returns the stored signals in the order of their sending.
func (m *model) signalsStored(w *world) (list []*task.Signal, err error) {
	for i := range m.signals {
		if m.sent(m.signals[i].SignalName) != &m.signals[i] {
			continue
		}
		s, err := w.store.SignalStore().FindSignal(w.ctx, m.signals[i].SignalName)
		if err != nil {
			return nil, err
		}
		if s != nil {
			list = append(list, s)
		}
	}
	return list, nil
}

// checkSignals: each waiting step takes the first signal due to it and misses none. A signal counts its takers and is
// kept as long as promised.
func (m *model) checkSignals(all *picture) error {
	taken := map[string]int64{}
	for _, p := range all.Tasks {
		def, err := m.worlds[0].engine.TemplateOf(m.worlds[0].ctx, p.Task.DefID)
		if err != nil {
			return err
		}
		for _, s := range p.Steps {
			waits := slices.ContainsFunc(p.Waits, func(w task.StepWait) bool { return w.Step == s.ID })
			if want := s.State == task.StepWaiting && def.Spec(s).Wait != nil; waits != want {
				return fmt.Errorf("step %s of task %s is %s; what it waits for is stored: %t", def.Spec(s).Name, p.Task.ID, s.State,
					waits)
			}
			if wait := def.Spec(s).Wait; wait != nil && wait.Kind() == task.WaitSignal {
				if err := m.checkWait(p, s, wait, taken); err != nil {
					return fmt.Errorf("step %s of task %s: %w", def.Spec(s).Name, p.Task.ID, err)
				}
			}
		}
	}
	now, kept := m.worlds[0].engine.Now(), map[task.SignalName]bool{}
	for _, stored := range all.Signals {
		kept[stored.SignalName] = true
		s := m.sent(stored.SignalName)
		switch {
		case stored.Fresh && !(m.worlds[0].keyless && s.hidden):
			return fmt.Errorf("the signal %+v is not handed over", *s)
		case stored.Taken < taken[s.payload], stored.Taken > taken[s.payload] && !m.deleted:
			return fmt.Errorf("the signal %+v was taken by %d steps and counts %d", *s, taken[s.payload], stored.Taken)
		}
	}
	for i := range m.signals {
		if s := &m.signals[i]; s.until > now && !kept[s.SignalName] {
			return fmt.Errorf("the signal %+v is gone", *s)
		}
	}
	return nil
}

func (m *model) checkWait(p taskPicture, s *task.Step, wait *task.Wait, taken map[string]int64) error {
	key, known := m.keyOf(p.Task.ID, wait)
	if !known && s.State == task.StepWaiting {
		return fmt.Errorf("it waits; its context has no key")
	}
	for _, a := range p.Records.Attempts { // those that have failed
		if a.StepID != s.ID || a.Failure == nil || a.Failure.Code != task.CodeWaitTimeout {
			continue
		}
		if first := m.firstFor(waitOf(wait, key, a.StartedAt)); first != nil && first.at <= a.FinishedAt {
			return fmt.Errorf("it ended without the signal %+v", *first)
		}
	}
	first := m.firstFor(waitOf(wait, key, s.StartedAt))
	switch result := string(s.Result); {
	case s.State == task.StepWaiting && first != nil && m.worlds[0].keyless && first.hidden:
	case s.State == task.StepWaiting && first != nil:
		return fmt.Errorf("it waits, and has not got the signal %+v", *first)
	case s.State != task.StepComplete || result == "1": // by an operator
	case result == `{"timed_out":true}`:
		if first != nil && first.at <= s.FinishedAt {
			return fmt.Errorf("it ended without the signal %+v", *first)
		}
	case first == nil || first.payload != result || first.at > s.FinishedAt:
		return fmt.Errorf("it has taken %s, and the first signal is %+v", result, first)
	default:
		taken[first.payload]++
	}
	return nil
}

// lose lets steps wait for signals that are kept already: one that the server can no longer decrypt, and one behind it
// that it can.
func (m *model) lose(o op) error {
	kept := func(key string) error {
		return m.send(sentSignal{SignalName: task.SignalName{Namespace: engine.DefaultNamespace}, name: "paid", key: key})
	}
	subs := make([]engine.Submission, 2+o.n[0]%3)
	for i := range subs {
		subs[i] = engine.Submission{Name: "called", Context: fmt.Appendf(nil, `{"key":"%s"}`,
			[]string{"lost", "kept"}[min(i, 1)])}
	}
	if err := firstError(m.setKey(false), kept("lost"), m.setKey(true), kept("kept"), m.accept(subs),
		m.after()); err != nil {
		return err
	}
	return m.look()
}

// keyOf reads the key of a task's signals from its context.
func (m *model) keyOf(id task.ID, wait *task.Wait) (key string, known bool) {
	t, err := m.worlds[0].engine.Task(m.worlds[0].ctx, id, 0)
	if err != nil {
		return "", false
	}
	parsed, err := limit.ParseKey(wait.Key)
	if err != nil {
		return "", false
	}
	key, err = parsed.Text(t.Context)
	return key, err == nil
}

func (m *model) sendAwaited() error {
	w := m.worlds[0]
	waits, err := w.store.WaitStore().ListWaits(w.ctx, engine.WaitFilter{Kind: task.WaitSignal, Limit: 1000})
	for _, wait := range waits {
		if err == nil {
			err = m.send(sentSignal{SignalName: task.SignalName{Namespace: wait.Namespace}, name: wait.Name, key: wait.Key})
		}
	}
	return err
}

// repairOf resets a step in error, unless it would fail again.
func (m *model) repairOf(t *task.Task, s *task.Step) (engine.ActKind, error) {
	def, err := m.worlds[0].engine.TemplateOf(m.worlds[0].ctx, t.DefID)
	if err != nil {
		return "", err
	}
	if wait := def.Spec(s).Wait; wait != nil && wait.Kind() == task.WaitSignal {
		if _, known := m.keyOf(t.ID, wait); !known {
			return engine.ResolveManually, nil
		}
	}
	return engine.ResetForRetry, nil
}
