package deadletter_test

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

func TestWaveWaitsForUnknown(t *testing.T) {
	t.Parallel()
	const send, wait = deadletter.ActSend, deadletter.ActWait
	for name, c := range map[string]struct {
		counts model.ItemCounts
		want   deadletter.Step
	}{
		"None":       {model.ItemCounts{Sent: 4}, deadletter.Step{Act: send, N: 6}},
		"OneUnknown": {model.ItemCounts{Sent: 4, Unknown: 1}, deadletter.Step{Act: send, N: 5}},
		"Sending":    {model.ItemCounts{Sent: 4, Sending: 3}, deadletter.Step{Act: send, N: 3}},
		"Both":       {model.ItemCounts{Sent: 4, Sending: 3, Unknown: 2}, deadletter.Step{Act: send, N: 1}},
		"AllUnknown": {model.ItemCounts{Sent: 4, Unknown: 6}, deadletter.Step{Act: wait, Until: now + 6}},
		"AllSending": {model.ItemCounts{Sent: 4, Sending: 6}, deadletter.Step{Act: wait, Until: now + 6}},
		"AllOfBoth":  {model.ItemCounts{Sent: 4, Sending: 2, Unknown: 4}, deadletter.Step{Act: wait, Until: now + 6}},
		"More":       {model.ItemCounts{Sent: 5, Sending: 2, Unknown: 4}, deadletter.Step{Act: wait, Until: now + 6}},
	} {
		r := redriveIn(model.RedriveRunning)
		r.Stop = deadletter.StopRule{}
		if s := r.Next(now+5, deadletter.Outcome{ItemCounts: c.counts}); s != c.want {
			t.Errorf("%s: %+v, want %+v", name, s, c.want)
		}
	}
}

func TestStopRuleCountsUnknown(t *testing.T) {
	t.Parallel()
	const undecided = " items of the wave could not be sent, or their outcome is not known; the stop rule allows 2"
	for name, c := range map[string]struct {
		bound, failed, unknown int
		want                   string
	}{
		"Below":         {3, 0, 2, ""},
		"BelowTogether": {3, 1, 1, ""},
		"At":            {3, 0, 3, "3" + undecided},
		"AtTogether":    {3, 2, 1, "3" + undecided},
		"Above":         {3, 1, 9, "10" + undecided},
		"FailedAndMore": {3, 3, 1, "4" + undecided},
		"FailedOnly":    {3, 3, 0, "3 items of the wave could not be sent; the stop rule allows 2"},
		"NoBound":       {0, 4, 5, ""},
	} {
		r := redriveIn(model.RedriveRunning)
		r.Stop = deadletter.StopRule{Failed: c.bound}
		s := r.Next(now, deadletter.Outcome{ItemCounts: model.ItemCounts{Failed: c.failed, Unknown: c.unknown}})
		if (s.Act == deadletter.ActHalt) != (c.want != "") || s.Reason != c.want {
			t.Errorf("%s: %+v", name, s)
		}
	}
	// Items of unknown outcome do not count as sent for the returned share.
	r := redriveIn(model.RedriveRunning)
	r.Stop = deadletter.StopRule{ReturnedShare: 0.2}
	few := deadletter.Outcome{ItemCounts: model.ItemCounts{Returned: 1, Sent: 3, Unknown: 1}}
	if s := r.Next(now, few); s.Act != deadletter.ActSend {
		t.Errorf("of four: %+v", s)
	}
}

func TestIncidentOfLostAnswers(t *testing.T) {
	t.Parallel()
	i := newIncident(t, 30, deadletter.Plan{Observe: time.Minute})
	i.r.Stop = deadletter.StopRule{Failed: 4}
	i.fate = func(no int) model.ItemState {
		if no%5 == 0 { // two of the canary, four of the second wave
			return model.ItemUnknown
		}
		return model.ItemSent
	}
	waits := func() bool {
		return i.sent == i.r.Total || i.r.WaveSent+i.outcome.Unknown == i.r.WaveSize && i.sent > 0
	}
	i.run(waits)
	if i.sent != 10 || i.r.WaveSent != 8 || i.r.State != model.RedriveRunning {
		t.Fatalf("%+v", i.r)
	}
	i.now = i.now.Add(time.Hour)
	if s := i.r.Next(i.now, i.outcome); s.Act != deadletter.ActWait || s.Until != i.now+1 {
		t.Fatalf("%+v", s)
	}
	i.settle(model.ItemSent)
	if i.r.State != model.RedriveObserving || i.r.StateAt != i.now {
		t.Fatalf("the observation begins when all is known: %+v", i.r)
	}
	if s := i.r.Next(i.now, i.outcome); s.Act != deadletter.ActWait || s.Until != i.now.Add(time.Minute) {
		t.Fatalf("%+v", s)
	}
	i.run(nil)
	if i.r.State != model.RedriveHalted || i.r.Halt !=
		"4 items of the wave could not be sent, or their outcome is not known; the stop rule allows 3" {
		t.Fatalf("%+v", i.r)
	}
	i.settle(model.ItemSent)
	if i.r.State != model.RedriveHalted || i.r.WaveSent != 20 || i.r.Behind != 30 {
		t.Fatalf("a halted redrive counts what becomes known: %+v", i.r)
	}
	i.must(i.r.Continue(i.now))
	i.run(nil)
	if i.r.State != model.RedriveDone || i.fates[model.ItemSent] != 30 {
		t.Errorf("%+v, %v", i.r, i.fates)
	}
}

func TestLostAnswersDuringAPause(t *testing.T) {
	t.Parallel()
	i := newIncident(t, 10, deadletter.Plan{})
	i.fate = func(int) model.ItemState { return model.ItemUnknown }
	i.r.Stop = deadletter.StopRule{}
	i.run(func() bool { return i.sent == 10 })
	i.must(i.r.Pause(i.now))
	i.settle(model.ItemFailed)
	i.must(i.r.Continue(i.now))
	if i.r.State != model.RedriveObserving || i.r.WaveSent != 10 || i.r.Behind != 10 {
		t.Fatalf("%+v", i.r)
	}
	if i.run(nil); i.r.State != model.RedriveDone || i.fates[model.ItemFailed] != 10 || len(i.waves) != 1 {
		t.Errorf("%+v, %v", i.r, i.waves)
	}
}

func TestRateCountsUndecided(t *testing.T) {
	t.Parallel()
	send := func(n int) deadletter.Step { return deadletter.Step{Act: deadletter.ActSend, N: n} }
	wait := func(ms int64) deadletter.Step {
		return deadletter.Step{Act: deadletter.ActWait, Until: now.Add(time.Duration(ms) * time.Millisecond)}
	}
	for name, c := range map[string]struct {
		rate                         float64
		size, sent, sending, unknown int
		after                        time.Duration
		want                         deadletter.Step
	}{
		"Decided":  {10, 100, 5, 0, 0, 500 * time.Millisecond, send(1)},
		"Unknown":  {10, 100, 3, 0, 2, 500 * time.Millisecond, send(1)},
		"Sending":  {10, 100, 3, 2, 0, 500 * time.Millisecond, send(1)},
		"Both":     {10, 100, 3, 1, 1, 500 * time.Millisecond, send(1)},
		"Two":      {10, 100, 3, 1, 1, 600 * time.Millisecond, send(2)},
		"Before":   {10, 100, 3, 1, 1, 500*time.Millisecond - time.Microsecond, wait(500)},
		"Spent":    {10, 100, 3, 1, 2, 500 * time.Millisecond, wait(600)},
		"LastOnes": {10, 7, 3, 1, 1, 900 * time.Millisecond, send(2)},
		"LastOne":  {1000, 10, 4, 2, 3, 0, wait(9)},
		"Fast":     {1000, 1000, 4, 2, 3, 0, wait(108)},
	} {
		r := redriveIn(model.RedriveRunning)
		r.Total, r.WaveSize, r.WaveSent, r.WaveBegan, r.Plan.Rate = 1000, c.size, c.sent, now, c.rate
		r.Stop = deadletter.StopRule{}
		o := deadletter.Outcome{ItemCounts: model.ItemCounts{Sent: c.sent, Sending: c.sending, Unknown: c.unknown}}
		if s := r.Next(now.Add(c.after), o); s != c.want || r.WaveBegan != now {
			t.Errorf("%s: %+v, want %+v", name, s, c.want)
		}
	}
}

func TestDecidedCounts(t *testing.T) {
	t.Parallel()
	c := model.ItemCounts{Pending: 1, Sending: 2, Unknown: 4, Sent: 8, Returned: 16, Completed: 32, Failed: 64,
		Skipped: 128, Uncertain: 256}
	if got := c.Decided(); got != 8+16+32+64+128 {
		t.Errorf("%d are decided", got)
	}
}
