package deadletter_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const (
	planned   = deadletter.SendPlanned
	inFlight  = deadletter.SendInFlight
	unknown   = deadletter.SendUnknown
	delivered = deadletter.SendDelivered
	refused   = deadletter.SendRefused

	mostTries = 6
)

func plannedSend() *deadletter.Send {
	return &deadletter.Send{Owner: task.MakeID(1, 1), Kind: deadletter.SendLetter, No: 3, State: planned, At: 1,
		NextAt: now, Destination: "mails", Content: "c"}
}

func does(t *testing.T, s *deadletter.Send, acts string) (reported bool) {
	t.Helper()
	for _, act := range strings.Fields(acts) {
		switch act {
		case "mark":
			s.Mark(5, now)
		case "confirmed":
			s.Delivered(false)
		case "repeated":
			s.Delivered(true)
		case "silence":
			reported = s.NoAnswer("no answer", now)
		case "failed":
			reported = s.Failed("refused", false, now)
		case "hopeless":
			reported = s.Failed("too large", true, now)
		case "untried":
			s.NotTried("the circuit is open", now+99)
		case "give-up":
			s.GiveUp("given up")
		case "dies":
			reported = s.Dies(true, true)
		default:
			t.Fatalf("no act %q", act)
		}
	}
	return reported
}

func TestSend(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for acts, c := range map[string]struct {
		state               deadletter.SendState
		tries, copies, died int
		pause               time.Duration
		error               string
		reported            bool
	}{
		"mark":                            {inFlight, 1, 0, 0, 0, "", false},
		"mark mark":                       {inFlight, 2, 1, 0, 0, "", false},
		"mark mark mark":                  {inFlight, 3, 2, 0, 0, "", false},
		"mark confirmed":                  {delivered, 1, 1, 0, 0, "", false},
		"mark repeated":                   {delivered, 1, 2, 0, 0, "", false},
		"mark silence":                    {unknown, 1, 1, 0, 2 * s, "no answer", true},
		"mark failed":                     {refused, 1, 0, 0, 0, "refused", false},
		"mark hopeless":                   {refused, 1, 0, 0, 0, "too large", false},
		"mark untried":                    {refused, 0, 0, 0, 0, "the circuit is open", false},
		"mark dies":                       {delivered, 1, 1, 1, 0, "", false},
		"mark silence mark":               {inFlight, 2, 1, 0, 0, "no answer", true},
		"mark silence mark confirmed":     {delivered, 2, 2, 0, 0, "", true},
		"mark silence mark repeated":      {delivered, 2, 2, 0, 0, "", true},
		"mark silence mark silence":       {unknown, 2, 2, 0, 4 * s, "no answer", true},
		"mark silence mark failed":        {unknown, 2, 1, 0, 4 * s, "refused", true},
		"mark silence mark hopeless":      {unknown, 2, 1, 0, 0, "too large", false},
		"mark silence mark untried":       {unknown, 1, 1, 0, 99 * time.Microsecond, "the circuit is open", true},
		"mark silence give-up":            {unknown, 1, 1, 0, 0, "given up", true},
		"mark silence dies":               {delivered, 1, 1, 1, 0, "", false},
		"mark silence give-up dies":       {delivered, 1, 1, 1, 0, "", false},
		"mark mark untried":               {unknown, 1, 1, 0, 99 * time.Microsecond, "the circuit is open", false},
		"mark mark failed":                {unknown, 2, 1, 0, 4 * s, "refused", true},
		"mark mark confirmed":             {delivered, 2, 2, 0, 0, "", false},
		"mark mark mark repeated":         {delivered, 3, 3, 0, 0, "", false},
		"mark confirmed dies":             {delivered, 1, 1, 1, 0, "", false},
		"mark repeated dies dies":         {delivered, 1, 2, 2, 0, "", true},
		"mark silence dies dies dies":     {delivered, 1, 1, 3, 0, "", true},
		"mark silence mark silence dies":  {delivered, 2, 2, 1, 0, "", false},
		"mark untried mark silence":       {unknown, 1, 1, 0, 2 * s, "no answer", true},
		"mark silence give-up mark":       {inFlight, 2, 1, 0, 0, "given up", true},
		"mark silence mark silence dies ": {delivered, 2, 2, 1, 0, "", false},
	} {
		send := plannedSend()
		reported := does(t, send, acts)
		if send.State != c.state || send.Tries != c.tries || send.Copies != c.copies || send.Died != c.died ||
			send.Error != c.error || reported != c.reported {
			t.Errorf("%s: %t, %+v", acts, reported, send)
		}
		if want := now.Add(c.pause); c.pause == 0 && send.NextAt != 0 || c.pause != 0 && send.NextAt != want {
			t.Errorf("%s: it is tried next at %d, want %d", acts, send.NextAt, want)
		}
		if send.Turn != 5 || send.At != now || send.No != 3 {
			t.Errorf("%s: %+v", acts, send)
		}
	}
}

// TestSendPauses: without an answer a send has six tries, with pauses that double up to half a minute.
func TestSendPauses(t *testing.T) {
	t.Parallel()
	for _, outcome := range []string{"silence", "failed"} {
		s := plannedSend()
		does(t, s, "mark silence")
		for n, pause := range []time.Duration{4 * time.Second, 8 * time.Second, 16 * time.Second, 30 * time.Second} {
			if again := does(t, s, "mark "+outcome); !again || s.Tries != n+2 || s.NextAt != now.Add(pause) {
				t.Errorf("%s: %t after %d tries: %+v", outcome, again, n+2, s)
			}
		}
		if again := does(t, s, "mark "+outcome); again || s.Tries != mostTries || s.NextAt != 0 || s.State != unknown {
			t.Errorf("%s: the last try: %t, %+v", outcome, again, s)
		}
		// An operator's send has one more try.
		if again := does(t, s, "mark "+outcome); again || s.Tries != mostTries+1 || s.NextAt != 0 || s.State != unknown {
			t.Errorf("%s: a try by an operator: %t, %+v", outcome, again, s)
		}
	}
}

func TestSendNotTried(t *testing.T) {
	t.Parallel()
	s := plannedSend()
	does(t, s, "mark silence")
	for range 50 {
		if does(t, s, "mark untried"); s.Tries != 1 || s.Copies != 1 || s.State != unknown || s.NextAt != now+99 {
			t.Fatalf("%+v", s)
		}
	}
	fresh := plannedSend()
	for range 50 {
		if does(t, fresh, "mark untried"); fresh.Tries != 0 || fresh.Copies != 0 || fresh.State != refused ||
			fresh.NextAt != 0 {
			t.Fatalf("%+v", fresh)
		}
	}
}

func TestSendMark(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from   deadletter.SendState
		copies int
	}{{planned, 0}, {unknown, 0}, {refused, 0}, {inFlight, 1}} {
		s := &deadletter.Send{State: c.from, Turn: 1, At: 2, NextAt: 3, Tries: 4}
		s.Mark(8, now)
		if s.State != inFlight || s.Turn != 8 || s.At != now || s.NextAt != 0 || s.Tries != 5 || s.Copies != c.copies {
			t.Errorf("%s: %+v", c.from, s)
		}
	}
}

func TestSendBegan(t *testing.T) {
	t.Parallel()
	s := plannedSend()
	if s.Mark(1, now); s.Began != now {
		t.Errorf("it began at %d", s.Began)
	}
	s.NoAnswer("no answer", now+1)
	if s.Mark(1, now+9); s.Began != now || s.At != now+9 {
		t.Errorf("marked again: %+v", s)
	}
}

func TestSendErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10*deadletter.MaxCause)
	for name, act := range map[string]func(s *deadletter.Send){
		"NoAnswer": func(s *deadletter.Send) { s.NoAnswer(long, now) },
		"Failed":   func(s *deadletter.Send) { s.Failed(long, true, now) },
		"NotTried": func(s *deadletter.Send) { s.NotTried(long, now) },
		"GiveUp":   func(s *deadletter.Send) { s.GiveUp(long) },
	} {
		s := plannedSend()
		does(t, s, "mark")
		if act(s); s.Error == "" || len(s.Error) > deadletter.MaxCause+len("…") {
			t.Errorf("%s: %d bytes", name, len(s.Error))
		}
	}
}

func TestSendOpen(t *testing.T) {
	t.Parallel()
	for state, want := range map[deadletter.SendState]bool{planned: false, inFlight: true, unknown: true, delivered: true,
		refused: false} {
		s := &deadletter.Send{Kind: deadletter.SendLetter, State: state}
		if s.Open() != want {
			t.Errorf("%s is open: %t", state, !want)
		}
		if s.Died = 1; s.Open() {
			t.Errorf("%s that has died is open", state)
		}
		for _, kind := range []deadletter.SendKind{deadletter.SendCopy, deadletter.SendFailure} {
			if of := (&deadletter.Send{Kind: kind, State: state}); of.Open() {
				t.Errorf("a %s that is %s is open", kind, state)
			}
		}
	}
}

func TestSendAgain(t *testing.T) {
	t.Parallel()
	s := plannedSend()
	if !s.Again("mails", "c") || s.Again("mails", "d") || s.Again("mail", "c") || s.Again("mail", "d") {
		t.Error("it takes the number of another send")
	}
}

func TestLands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		destination, origin string
		want                bool
	}{
		{"mails", "mails", true}, {"mails", "other", false}, {"mails", "Mails", false}, {"mails", "mails.v2", false},
		{"mails", "", true}, {"", "", true}, {"", "mails", false},
		{"orders#3", "orders", true}, {"orders#3", "orders#3", true}, {"orders#3", "orders#4", false},
		{"orders#3", "other", false}, {"orders#3", "order", false}, {"orders#3", "orders#", false},
		{"orders#original", "orders", true}, {"orders#original", "other", false}, {"orders#original", "", true},
		{"orders", "orders#3", false}, {"#3", "orders", false}, {"orders#", "orders", true},
		{"exchange:events", "any", true}, {"exchange:events", "", true}, {"exchange:", "any", true},
		{"exchange:events/key#1", "any", true}, {"exchange", "any", false}, {"my-exchange:x", "any", false},
		{"http://host/path", "any", true}, {"https://host/path#part", "other", true}, {"http:/host", "any", false},
		{"any", "http://host/path", false}, {"any", "exchange:events", false},
	} {
		if got := deadletter.Lands(c.destination, c.origin); got != c.want {
			t.Errorf("from %q, sent to %q: %t", c.origin, c.destination, got)
		}
	}
}

// sendModel is a send with the true fate of its message. A process may crash between the mark and the outcome.
type sendModel struct {
	s                                  *deadletter.Send
	tries, interrupted, byHand, deaths int
	confirmed, repeated                bool
}

func TestSendModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &sendModel{s: plannedSend()}
		// outcome is recorded only of a send in flight.
		outcome := func(act func(t *rapid.T)) func(t *rapid.T) {
			return func(t *rapid.T) {
				if m.s.State != inFlight {
					t.Skip()
				}
				act(t)
			}
		}
		t.Repeat(map[string]func(t *rapid.T){
			"mark":  m.mark,
			"again": m.mark,
			"confirmed": outcome(func(t *rapid.T) {
				m.repeated = rapid.Bool().Draw(t, "again")
				m.confirmed = true
				m.s.Delivered(m.repeated)
			}),
			"silence": outcome(func(t *rapid.T) { m.waits(t, m.s.NoAnswer("no answer", now)) }),
			"failed": outcome(func(t *rapid.T) {
				forGood := rapid.Bool().Draw(t, "for good")
				copies := m.s.Copies
				again := m.s.Failed("refused", forGood, now)
				if again && (forGood || copies == 0) || m.s.Copies != copies {
					t.Fatalf("%t after %d copies: %+v", again, copies, m.s)
				}
				m.waits(t, again)
			}),
			"untried": outcome(func(*rapid.T) {
				m.tries--
				m.s.NotTried("the circuit is open", now+1)
			}),
			"give up": func(t *rapid.T) {
				if m.s.State != unknown {
					t.Skip()
				}
				if m.s.GiveUp("enough"); m.s.NextAt != 0 || m.s.State != unknown {
					t.Fatalf("given up: %+v", m.s)
				}
			},
			"dies": m.dies,
			"":     m.check,
		})
	})
}

// mark marks a due send, one by hand, or one that a node left in flight.
func (m *sendModel) mark(t *rapid.T) {
	switch s := m.s; {
	case s.State == delivered:
		t.Skip()
	case s.State == refused: // another send takes its number
		*m = sendModel{s: plannedSend()}
		return
	case s.State == inFlight:
		m.interrupted++
	case s.NextAt == 0:
		m.byHand++
	}
	m.tries++
	m.s.Mark(1, now)
}

func (m *sendModel) waits(t *rapid.T, again bool) {
	if again != (m.s.NextAt != 0) || again && (m.s.State != unknown || m.s.Tries >= mostTries || m.s.NextAt <= now) ||
		!again && m.s.State != unknown && m.s.State != refused {
		t.Fatalf("tried again: %t: %+v", again, m.s)
	}
	if pause := m.s.NextAt.Sub(now); again && (pause < 2*time.Second || pause > 30*time.Second) {
		t.Fatalf("after %s: %+v", pause, m.s)
	}
}

func (m *sendModel) dies(t *rapid.T) {
	if m.s.State == planned || m.s.State == refused {
		t.Skip()
	}
	open := m.s.Open()
	if open != (m.deaths == 0) {
		t.Fatalf("it is open after %d deaths: %+v", m.deaths, m.s)
	}
	if second := m.s.Dies(true, true); second == open {
		t.Fatalf("a second death: %t: %+v", second, m.s)
	}
	m.deaths++
}

func (m *sendModel) check(t *rapid.T) {
	s := m.s
	most := m.tries
	if m.repeated {
		most++ // its carrier tried it twice
	}
	switch {
	case (s.State == delivered) != (m.confirmed || m.deaths > 0):
		t.Fatalf("confirmed %t, died %d times: %+v", m.confirmed, m.deaths, s)
	case s.State == refused && s.Copies != 0, s.State == unknown && s.Copies == 0, s.State == delivered && s.Copies == 0:
		t.Fatalf("%d copies: %+v", s.Copies, s)
	case s.Tries != m.tries || s.Died != m.deaths || s.Copies > most:
		t.Fatalf("%d tries, %d deaths, at most %d copies: %+v", m.tries, m.deaths, most, s)
	case s.NextAt != 0 && s.State != planned && s.State != unknown, s.State == planned && s.NextAt == 0:
		t.Fatalf("it is tried next at %d: %+v", s.NextAt, s)
	case s.Open() && (m.deaths > 0 || s.State == refused || s.State == planned):
		t.Fatalf("it is open after %d deaths: %+v", m.deaths, s)
	case s.Tries > mostTries+m.interrupted+m.byHand:
		t.Fatalf("%d interrupted, %d by hand: %+v", m.interrupted, m.byHand, s)
	case s.State == delivered && s.Error != "", s.State == refused && s.Error == "", s.State == unknown && s.Error == "":
		t.Fatalf("the error is %q: %+v", s.Error, s)
	}
}
