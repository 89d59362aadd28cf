package deadletter_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/task"
)

// model is a redrive over some letters, with a runner that may end between any two of its steps, a consumer, and
// operators. rapid prints the seed of a run that fails.
type model struct {
	letters []*deadletter.Letter
	items   []deadletter.Item
	redrive *deadletter.Redrive
	now     task.Instant
	// What happened, by letter.
	sends, returns []int
	broker         map[int]bool // sent, and not consumed yet
}

func newModel(t *rapid.T) *model {
	n := rapid.IntRange(0, 30).Draw(t, "letters")
	m := &model{now: now, sends: make([]int, n), returns: make([]int, n), broker: map[int]bool{}}
	for i := range n {
		l := letterIn(deadletter.Open)
		l.ID = task.MakeID(int64(i+1), 1)
		m.letters = append(m.letters, l)
		m.items = append(m.items, deadletter.Item{No: i + 1, ID: l.ID, State: deadletter.ItemPending})
	}
	plan := deadletter.Plan{Canary: rapid.IntRange(1, 5).Draw(t, "canary"), Largest: 8, Observe: time.Second,
		Rate: rapid.SampledFrom([]float64{0, 0.5, 10}).Draw(t, "rate")}
	m.redrive = &deadletter.Redrive{ID: redriveID, Operation: deadletter.OpRedrive, State: deadletter.RedriveDraft,
		Total: n, Plan: plan.WithDefaults(), Stop: deadletter.StopRule{ReturnedShare: 0.5, Failed: 2}}
	return m
}

// outcome counts the items of the wave, as a store does.
func (m *model) outcome() deadletter.Outcome {
	o := deadletter.Outcome{ByGroup: map[deadletter.GroupID]int{}}
	for _, i := range m.items {
		if i.Wave != m.redrive.Wave {
			continue
		}
		switch i.State {
		case deadletter.ItemSending:
			o.Sending++
		case deadletter.ItemSent:
			o.Sent++
		case deadletter.ItemReturned:
			o.Returned++
			o.ByGroup[i.Group]++
		case deadletter.ItemFailed:
			o.Failed++
		case deadletter.ItemSkipped:
			o.Skipped++
		}
	}
	return o
}

// run is one turn of the runner.
func (m *model) run(t *rapid.T) {
	for i := range m.items {
		if m.items[i].State == deadletter.ItemSending { // of a runner that ended
			m.settle(t, i, true)
			return
		}
	}
	s := m.redrive.Next(m.now, m.outcome())
	switch s.Act {
	case deadletter.ActWait:
		if s.Until <= m.now {
			t.Fatalf("it waits until %d at %d", s.Until, m.now)
		}
		m.now = s.Until
	case deadletter.ActSend:
		if s.N <= 0 || s.N > m.redrive.WaveSize-m.redrive.WaveSent {
			t.Fatalf("%+v of %+v", s, m.redrive)
		}
		m.mark(t)
	default:
		if err := m.redrive.Apply(s, m.now); err != nil {
			t.Fatal(err)
		}
	}
}

// mark marks the next item. A letter that an operator changed since the freeze is skipped.
func (m *model) mark(t *rapid.T) {
	i := m.redrive.Behind
	m.items[i].Wave = m.redrive.Wave
	if _, sends := m.letters[i].Sends(false); !sends {
		m.items[i].State = deadletter.ItemSkipped
		m.decided(t, i)
		return
	}
	if err := m.letters[i].Mark(redriveID, m.now); err != nil {
		t.Fatal(err)
	}
	m.items[i].State = deadletter.ItemSending
	if rapid.Bool().Draw(t, "the runner goes on") {
		m.settle(t, i, rapid.IntRange(0, 5).Draw(t, "the broker refuses") > 0)
	} else if rapid.Bool().Draw(t, "it ends after the send") {
		m.broker[i] = true
	}
}

// settle sends an item and records what became of it. It may have come back before.
func (m *model) settle(t *rapid.T, i int, accepts bool) {
	l := m.letters[i]
	switch {
	case l.State != deadletter.Redriving: // it came back already, and an operator may have acted since: never send it
		m.items[i].State = deadletter.ItemReturned
	case accepts:
		m.broker[i] = true
		if rapid.IntRange(0, 3).Draw(t, "it is quick") == 0 {
			m.comeBack(t, i)
			m.items[i].State = deadletter.ItemReturned
		} else {
			m.sends[i]++
			must(t, l.Sent(m.now, day))
			m.items[i].State = deadletter.ItemSent
		}
	default:
		must(t, l.Unmark("refused", m.now))
		m.items[i].State = deadletter.ItemFailed
	}
	m.decided(t, i)
}

func (m *model) decided(t *rapid.T, i int) {
	must(t, m.redrive.Decided(1, i+1, m.now))
}

func must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func (m *model) comeBack(t *rapid.T, i int) {
	delete(m.broker, i)
	m.returns[i]++
	if m.letters[i].State == deadletter.Redriving { // before its send is recorded
		m.sends[i]++
	}
	_, err := m.letters[i].Return(deadletter.Occurrence{At: m.now, Group: 4, Attempts: 1}, 3, m.now)
	must(t, err)
	if m.items[i].State == deadletter.ItemSent {
		m.items[i].State, m.items[i].Group = deadletter.ItemReturned, 4
	}
}

// TestModel lets a runner, a consumer and operators do what they can in any order.
func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		operator := func(act func(task.Instant) error, allowed ...deadletter.RedriveState) func(*rapid.T) {
			return func(t *rapid.T) {
				before := m.redrive.State
				if err := act(m.now); (err == nil) != among(before, allowed) {
					t.Fatalf("from %s: %v", before, err)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"run":      m.run,
			"again":    m.run, // more often than the others
			"start":    operator(m.redrive.Start, deadletter.RedriveDraft),
			"pause":    operator(m.redrive.Pause, deadletter.RedriveRunning, deadletter.RedriveObserving),
			"continue": operator(m.redrive.Continue, deadletter.RedrivePaused, deadletter.RedriveHalted),
			"consume": func(t *rapid.T) {
				for i := range m.letters {
					if !m.broker[i] {
						continue
					}
					// One that was sent by a runner that ended, and again by the next, comes back twice: the second
					// time is a repetition.
					away := m.letters[i].State == deadletter.Redriven || m.letters[i].State == deadletter.Redriving
					if rapid.Bool().Draw(t, "it fails") && away {
						m.comeBack(t, i)
					}
					delete(m.broker, i)
				}
			},
			"discard": func(t *rapid.T) {
				if len(m.letters) == 0 {
					t.Skip()
				}
				l := m.letters[rapid.IntRange(0, len(m.letters)-1).Draw(t, "letter")]
				before := l.State
				if err := l.Discard("by hand", m.now, day); (err == nil) != (before == deadletter.Open) {
					t.Fatalf("from %s: %v", before, err)
				}
			},
			"": m.check,
		})
		m.finish(t)
	})
}

func among(s deadletter.RedriveState, list []deadletter.RedriveState) bool {
	for _, a := range list {
		if s == a {
			return true
		}
	}
	return false
}

// check holds what is always true.
func (m *model) check(t *rapid.T) {
	r := m.redrive
	if r.WaveSent > r.WaveSize && r.WaveSize > 0 || r.Behind > r.Total {
		t.Fatalf("%+v", r)
	}
	for i, l := range m.letters {
		if l.Replays != m.sends[i] || l.Occurrences != 1+m.returns[i] {
			t.Fatalf("letter %d was sent %d times and returned %d times: %+v", i, m.sends[i], m.returns[i], l)
		}
		if m.sends[i] > 1 || m.sends[i] > 0 && i > r.Behind {
			t.Fatalf("letter %d was sent %d times, behind %d", i, m.sends[i], r.Behind)
		}
		decided := m.items[i].State != deadletter.ItemPending && m.items[i].State != deadletter.ItemSending
		if decided != (i < r.Behind) {
			t.Fatalf("item %d is %s, behind %d", i+1, m.items[i].State, r.Behind)
		}
	}
	if o := m.outcome(); o.Failed > r.Stop.Failed {
		t.Fatalf("%d failed in one wave: %+v", o.Failed, r)
	}
}

// finish lets everything go on: a redrive that nobody stops ends with every item decided.
func (m *model) finish(t *rapid.T) {
	for range 10_000 {
		switch m.redrive.State {
		case deadletter.RedriveDraft:
			must(t, m.redrive.Start(m.now))
		case deadletter.RedrivePaused, deadletter.RedriveHalted:
			must(t, m.redrive.Continue(m.now))
		case deadletter.RedriveDone:
			if m.redrive.Behind != len(m.items) {
				t.Fatalf("it is done: %+v", m.redrive)
			}
			m.check(t)
			return
		}
		m.run(t)
	}
	t.Fatalf("it does not end: %+v", m.redrive)
}
