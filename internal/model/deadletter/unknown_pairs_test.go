package deadletter_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// The age of a letter does not abandon a send that may have arrived.
func TestUnknownTooOld(t *testing.T) {
	t.Parallel()
	p := deadletter.Policy{Strategy: model.Fixed, MaxRetries: 3, Base: time.Minute, MaxAge: time.Hour}
	l := letterIn(model.LetterOpen)
	l.Unknown = true
	if d := p.Decide(l, now.Add(2*time.Hour), 0); d.Verdict != deadletter.VerdictLeave {
		t.Errorf("%+v", d)
	}
}

// A wave under a rate continues beside items of unknown outcome.
func TestRateBesideUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate    float64
		unknown int
	}{{0.5, 1}, {2, 5}, {10, 50}} {
		r := redriveIn(model.RedriveRunning)
		r.Stop, r.Total, r.WaveSize, r.WaveSent, r.WaveBegan, r.Plan.Rate = deadletter.StopRule{}, 1000, 100, 0, now, c.rate
		o := deadletter.Outcome{ItemCounts: model.ItemCounts{Unknown: c.unknown}}
		sent, at := 0, now
		for at < now.Add(time.Minute) && sent < 100-c.unknown {
			switch s := r.Next(at, o); s.Act {
			case deadletter.ActSend:
				sent += s.N
				o.Sent += s.N
				_ = r.Decided(s.N, r.Behind+s.N, at)
			case deadletter.ActWait:
				at = s.Until
			default:
				t.Fatalf("%+v", s)
			}
		}
		if sent < min(100, int(60*c.rate))-c.unknown-2 {
			t.Errorf("rate %g, %d unknown: %d sent in a minute", c.rate, c.unknown, sent)
		}
	}
}

// After a halt the redrive waits for unknown outcomes of the halted wave.
func TestDoneWithUnknown(t *testing.T) {
	t.Parallel()
	r := redriveIn(model.RedriveRunning)
	r.Total, r.WaveSent, r.Behind = 10, 7, 10
	r.Stop = deadletter.StopRule{Failed: 3}
	o := deadletter.Outcome{ItemCounts: model.ItemCounts{Sent: 7, Unknown: 3}}
	_ = r.Apply(r.Next(now, o), now)
	_ = r.Continue(now)
	if s := r.Next(now, o); s.Act != deadletter.ActWait {
		t.Errorf("%+v", s)
	}
}

func TestWaveOfUnknown(t *testing.T) {
	t.Parallel()
	r := redriveIn(model.RedriveRunning)
	r.Total, r.WaveSent, r.Behind = 10, 0, 0
	_ = r.Decided(0, 10, now) // all ten are marked and unknown
	_ = r.Decided(10, 0, now) // SendDue settled them; runner.record(nil, nil, 0)
	o := deadletter.Outcome{ItemCounts: model.ItemCounts{Sent: 10}}
	if s := r.Next(r.StateAt.Add(r.Plan.Observe), o); s.Act != deadletter.ActDone {
		t.Errorf("%+v, behind %d", s, r.Behind)
	}
}

// A try that dies in flight is a further copy.
func TestDiesInFlight(t *testing.T) {
	t.Parallel()
	for acts, want := range map[string]int{"mark silence mark dies": 2, "mark mark dies": 2, "mark dies": 1} {
		s := plannedSend()
		if does(t, s, acts); s.Copies != want {
			t.Errorf("%s: %d copies, want %d", acts, s.Copies, want)
		}
	}
}

func TestGiveUpInFlight(t *testing.T) {
	t.Parallel()
	s := plannedSend()
	if does(t, s, "mark give-up"); s.State != unknown {
		t.Errorf("%+v", s)
	}
}
