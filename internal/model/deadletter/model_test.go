package deadletter_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// world is a redrive whose runner may crash between any two steps and lose broker answers, beside a consumer and
// operators.
type world struct {
	letters []*deadletter.Letter
	sends   []*deadletter.Send
	items   []deadletter.Item
	redrive *deadletter.Redrive
	now     task.Instant
	// Ground truth by letter.
	arrived, deaths []int // copies at the broker, and those that died
	confirmed       []bool
}

func newWorld(t *rapid.T) *world {
	n := rapid.IntRange(0, 30).Draw(t, "letters")
	m := &world{now: now, arrived: make([]int, n), deaths: make([]int, n), confirmed: make([]bool, n)}
	for i := range n {
		l := letterIn(model.LetterOpen)
		l.ID = task.MakeID(int64(i+1), 1)
		m.letters = append(m.letters, l)
		m.sends = append(m.sends, newSend(l))
		m.items = append(m.items, deadletter.Item{No: i + 1, ID: l.ID, State: model.ItemPending})
	}
	plan := deadletter.Plan{Canary: rapid.IntRange(1, 5).Draw(t, "canary"), Largest: 8, Observe: time.Second,
		Rate: rapid.SampledFrom([]float64{0, 0.5, 10}).Draw(t, "rate"), AtMostOnce: rapid.Bool().Draw(t, "at most once")}
	m.redrive = &deadletter.Redrive{ID: redriveID, Operation: model.OpRedrive, State: model.RedriveDraft,
		Total: n, Plan: plan.WithDefaults(), Stop: deadletter.StopRule{ReturnedShare: 0.5, Failed: 2}}
	return m
}

func newSend(l *deadletter.Letter) *deadletter.Send {
	return &deadletter.Send{Owner: l.ID, Kind: deadletter.SendLetter, No: l.Replays + 1, State: planned}
}

func (m *world) outcome() deadletter.Outcome {
	o := deadletter.Outcome{ByGroup: map[deadletter.GroupID]int{}}
	for _, i := range m.items {
		if i.Wave != m.redrive.Wave {
			continue
		}
		switch i.State {
		case model.ItemSending:
			o.Sending++
		case model.ItemUnknown:
			o.Unknown++
		case model.ItemSent:
			o.Sent++
		case model.ItemReturned:
			o.Returned++
			o.ByGroup[i.Group]++
		case model.ItemFailed:
			o.Failed++
		case model.ItemSkipped:
			o.Skipped++
		}
	}
	return o
}

func (m *world) run(t *rapid.T) {
	if i := m.find(model.ItemSending); i >= 0 { // of a crashed runner
		m.again(t, i)
		return
	}
	if m.redrive.WaveSize > 0 && m.outcome().Decided() > m.redrive.WaveSent { // its returns were decided by then
		m.decided(t, 0)
	}
	s := m.redrive.Next(m.now, m.outcome())
	switch s.Act {
	case deadletter.ActWait:
		if s.Until <= m.now {
			t.Fatalf("it waits until %d at %d", s.Until, m.now)
		}
		m.now = s.Until
		if m.outcome().Unknown > 0 {
			m.due(t)
		}
	case deadletter.ActSend:
		o := m.outcome()
		if s.N <= 0 || s.N > m.redrive.WaveSize-m.redrive.WaveSent-o.Sending-o.Unknown {
			t.Fatalf("%+v of %+v", s, m.redrive)
		}
		if i := m.find(model.ItemPending); i >= 0 {
			m.mark(t, i)
		} else { // nothing is left, whatever the row says
			must(t, m.redrive.Decided(m.redrive.WaveSize-m.redrive.WaveSent, m.redrive.Total, m.now))
		}
	default:
		if err := m.redrive.Apply(s, m.now); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *world) find(s model.ItemState) int {
	return slices.IndexFunc(m.items, func(i deadletter.Item) bool { return i.State == s })
}

// An item whose letter an operator changed since the freeze is skipped.
func (m *world) mark(t *rapid.T, i int) {
	l := m.letters[i]
	m.items[i].Wave = m.redrive.Wave
	if _, sends := l.MaySend(false); !sends {
		m.items[i].State = model.ItemSkipped
		m.decided(t, i+1)
		return
	}
	must(t, l.Mark(redriveID, m.now))
	m.items[i].State = model.ItemSending
	if m.sends[i].State == refused { // its turn did not come
		m.sends[i] = newSend(l)
	}
	m.sends[i].Mark(1, m.now)
	if rapid.Bool().Draw(t, "the runner goes on") {
		m.settle(t, i)
	} else if rapid.Bool().Draw(t, "it ends after the send") {
		m.arrived[i]++
	}
}

func (m *world) due(t *rapid.T) {
	if i := m.find(model.ItemUnknown); i >= 0 {
		m.now = max(m.now, m.sends[i].NextAt)
		m.again(t, i)
	}
}

// again repeats a send under its number, unless it may arrive only once.
func (m *world) again(t *rapid.T, i int) {
	left := m.sends[i].State == inFlight
	m.sends[i].Mark(1, m.now)
	if m.items[i].State = model.ItemSending; left && m.redrive.Plan.AtMostOnce {
		m.silence(i)
		m.record(t, i)
		return
	}
	m.settle(t, i)
}

func (m *world) silence(i int) {
	m.sends[i].NoAnswer("no answer", m.now)
	if m.redrive.Plan.AtMostOnce {
		m.sends[i].GiveUp("no answer")
	}
}

func (m *world) settle(t *rapid.T, i int) {
	s := m.sends[i]
	switch rapid.IntRange(0, 6).Draw(t, "outcome") {
	case 0:
		if rapid.Bool().Draw(t, "it arrives") {
			m.arrived[i]++
		}
		m.silence(i)
	case 1:
		s.Failed("refused", rapid.Bool().Draw(t, "for good"), m.now)
	case 2:
		s.NotTried("the circuit is open", m.now+1)
	case 3: // it dies immediately
		m.arrived[i]++
		m.die(t, i)
		m.decided(t, i+1)
		return
	default:
		m.arrived[i]++
		m.confirmed[i] = true
		s.Delivered(rapid.Bool().Draw(t, "it is repeated"))
	}
	m.record(t, i)
}

func (m *world) record(t *rapid.T, i int) {
	s, l := m.sends[i], m.letters[i]
	item := &m.items[i]
	switch {
	case s.State == delivered:
		item.State = model.ItemSent
		must(t, l.Sent(s.No, m.now, day))
	case s.NextAt != 0:
		item.State = model.ItemUnknown
	default:
		item.State = model.ItemFailed
		if s.Tries == 0 {
			item.State, item.Wave = model.ItemPending, 0
		}
		must(t, l.Unmark(s.Error, s.Copies > 0, m.now))
	}
	if item.State != model.ItemPending {
		m.decided(t, i+1)
	}
}

func (m *world) decided(t *rapid.T, last int) {
	if m.redrive.WaveSize > 0 {
		must(t, m.redrive.Decided(m.outcome().Decided()-m.redrive.WaveSent, last, m.now))
	}
}

func must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// The first death of a copy returns its letter, in any state.
func (m *world) die(t *rapid.T, i int) {
	l := m.letters[i]
	before := l.State
	second := m.sends[i].Dies(true, true)
	if m.deaths[i]++; second != (m.deaths[i] > 1) {
		t.Fatalf("death %d of letter %d: %t", m.deaths[i], i, second)
	}
	if second {
		return
	}
	l.Return(deadletter.Occurrence{At: m.now, Group: 4, Attempts: 1}, m.sends[i].No, 3, m.now)
	if l.State != model.LetterOpen {
		t.Fatalf("a letter that was %s and died is %s", before, l.State)
	}
	m.items[i].State, m.items[i].Group = model.ItemReturned, 4
}

func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newWorld(t)
		operator := func(act func(task.Instant) error, allowed ...model.RedriveState) func(*rapid.T) {
			return func(t *rapid.T) {
				before := m.redrive.State
				if err := act(m.now); (err == nil) != slices.Contains(allowed, before) {
					t.Fatalf("from %s: %v", before, err)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"run":      m.run,
			"again":    m.run, // more often than the others
			"start":    operator(m.redrive.Start, model.RedriveDraft),
			"pause":    operator(m.redrive.Pause, model.RedriveRunning, model.RedriveObserving),
			"continue": operator(m.redrive.Continue, model.RedrivePaused, model.RedriveHalted),
			"due":      m.due,
			"consume": func(t *rapid.T) {
				for i := range m.letters {
					// A second copy, of a crashed runner or a lost answer, is a repetition.
					if m.arrived[i] > m.deaths[i] && rapid.Bool().Draw(t, "it fails") {
						m.die(t, i)
					}
				}
			},
			"discard": m.operate(func(l *deadletter.Letter) error { return l.Discard("by hand", m.now, day) },
				model.LetterOpen),
			"restore": m.operate(func(l *deadletter.Letter) error { return l.Restore(m.now) }, model.LetterRedriven,
				model.LetterDiscarded),
			"": m.check,
		})
		m.finish(t)
	})
}

func (m *world) operate(act func(*deadletter.Letter) error, allowed ...model.LetterState) func(*rapid.T) {
	return func(t *rapid.T) {
		if len(m.letters) == 0 {
			t.Skip()
		}
		l := m.letters[rapid.IntRange(0, len(m.letters)-1).Draw(t, "letter")]
		before := l.State
		if err := act(l); (err == nil) != slices.Contains(allowed, before) {
			t.Fatalf("from %s: %v", before, err)
		}
	}
}

func (m *world) check(t *rapid.T) {
	r := m.redrive
	if r.WaveSent > r.WaveSize && r.WaveSize > 0 || r.Behind > r.Total {
		t.Fatalf("%+v", r)
	}
	for i := range m.letters {
		m.checkLetter(t, i)
	}
	if o := m.outcome(); o.Failed+o.Unknown > r.Stop.Failed {
		t.Fatalf("%d failed in one wave, and %d are unknown: %+v", o.Failed, o.Unknown, r)
	}
}

func (m *world) checkLetter(t *rapid.T, i int) {
	l, s, item := m.letters[i], m.sends[i], m.items[i]
	known := m.confirmed[i] || m.deaths[i] > 0
	replays := 0
	if known {
		replays = 1
	}
	if (s.State == delivered) != known || l.Replays != replays || l.Occurrences != 1+min(m.deaths[i], 1) {
		t.Fatalf("letter %d, confirmed %t, died %d times: %+v, %+v", i, m.confirmed[i], m.deaths[i], l, s)
	}
	sending := s.State == inFlight || s.State == unknown && s.NextAt != 0
	if (l.State == model.LetterRedriving) != sending || !sending && l.Unknown != (s.State == unknown) {
		t.Fatalf("letter %d: %+v, %+v", i, l, s)
	}
	if m.arrived[i] > 0 && (s.State == refused || s.State == planned) || m.deaths[i] > m.arrived[i] {
		t.Fatalf("letter %d arrived %d times: %+v", i, m.arrived[i], s)
	}
	if r := m.redrive; r.Plan.AtMostOnce && m.arrived[i] > 1 {
		t.Fatalf("letter %d arrived %d times", i, m.arrived[i])
	}
	want := map[model.ItemState]bool{
		model.ItemPending:  s.State == planned || s.State == refused && s.Tries == 0,
		model.ItemSkipped:  s.State == planned || s.State == refused && s.Tries == 0,
		model.ItemSending:  s.State == inFlight,
		model.ItemUnknown:  s.State == unknown && s.NextAt != 0,
		model.ItemSent:     s.State == delivered && s.Died == 0,
		model.ItemReturned: s.State == delivered && s.Died > 0,
		model.ItemFailed:   s.State == refused && s.Tries > 0 || s.State == unknown && s.NextAt == 0,
	}
	if !want[item.State] {
		t.Fatalf("item %d is %s: %+v", item.No, item.State, s)
	}
}

// finish requires a redrive that nobody stops to end with every item decided.
func (m *world) finish(t *rapid.T) {
	for range 10_000 {
		switch m.redrive.State {
		case model.RedriveDraft:
			must(t, m.redrive.Start(m.now))
		case model.RedrivePaused, model.RedriveHalted:
			must(t, m.redrive.Continue(m.now))
		case model.RedriveDone:
			for m.find(model.ItemUnknown) >= 0 { // of halted waves
				m.due(t)
			}
			if m.redrive.Behind != len(m.items) || m.find(model.ItemPending) >= 0 ||
				m.find(model.ItemSending) >= 0 {
				t.Fatalf("it is done: %+v", m.redrive)
			}
			m.check(t)
			return
		}
		m.run(t)
	}
	t.Fatalf("it does not end: %+v", m.redrive)
}
