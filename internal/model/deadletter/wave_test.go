package deadletter_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// incident runs a redrive against imagined consumers: fate decides the result of an item.
type incident struct {
	t       *testing.T
	r       *deadletter.Redrive
	now     task.Instant
	fate    func(no int) model.ItemState
	group   func(no int) deadletter.GroupID
	outcome deadletter.Outcome
	fates   map[model.ItemState]int
	waves   []int
	sent    int
	log     []string
}

func newIncident(t *testing.T, total int, plan deadletter.Plan) *incident {
	t.Helper()
	r := &deadletter.Redrive{ID: redriveID, Operation: model.OpRedrive, State: model.RedriveDraft, Total: total,
		Plan: plan.WithDefaults(), Stop: deadletter.StopRule{}.WithDefaults()}
	i := &incident{t: t, r: r, now: now, fates: map[model.ItemState]int{},
		fate:  func(int) model.ItemState { return model.ItemSent },
		group: func(int) deadletter.GroupID { return 1 }}
	i.must(r.Start(i.now))
	return i
}

func (i *incident) must(err error) {
	i.t.Helper()
	if err != nil {
		i.t.Fatal(err)
	}
}

func (i *incident) run(until func() bool) {
	i.t.Helper()
	for range 1_000_000 {
		if until != nil && until() {
			return
		}
		s := i.r.Next(i.now, i.outcome)
		switch s.Act {
		case deadletter.ActSend:
			i.send(min(s.N, 64))
		case deadletter.ActWait:
			if s.Until <= i.now {
				i.t.Fatalf("it waits until %d at %d", s.Until, i.now)
			}
			i.now = s.Until
		case deadletter.ActWave:
			i.waves = append(i.waves, s.N)
			i.outcome = deadletter.Outcome{ByGroup: map[deadletter.GroupID]int{}}
			i.must(i.r.Apply(s, i.now))
		default:
			i.must(i.r.Apply(s, i.now))
			i.log = append(i.log, fmt.Sprint(s.Act, s.Reason))
			return
		}
	}
	i.t.Fatalf("it does not end: %+v", i.r)
}

func (i *incident) send(n int) {
	undecided := 0
	for no := i.sent + 1; no <= i.sent+n; no++ {
		f := i.fate(no)
		i.fates[f]++
		switch f {
		case model.ItemSent:
			i.outcome.Sent++
		case model.ItemReturned:
			i.outcome.Returned++
			i.outcome.ByGroup[i.group(no)]++
		case model.ItemCompleted:
			i.outcome.Completed++
		case model.ItemFailed:
			i.outcome.Failed++
		case model.ItemSkipped:
			i.outcome.Skipped++
		case model.ItemUnknown:
			i.outcome.Unknown++
			undecided++
		}
	}
	i.now += 1000
	i.sent += n
	i.must(i.r.Decided(n-undecided, i.sent, i.now))
}

func (i *incident) settle(as model.ItemState) {
	n := i.outcome.Unknown
	i.outcome.Unknown = 0
	switch as {
	case model.ItemSent:
		i.outcome.Sent += n
	case model.ItemFailed:
		i.outcome.Failed += n
	}
	i.fates[model.ItemUnknown] -= n
	i.fates[as] += n
	i.must(i.r.Decided(n, i.sent, i.now))
}

func (i *incident) decided() (n int) {
	for _, f := range i.fates {
		n += f
	}
	return n
}

func TestIncidentOfAGoodFix(t *testing.T) {
	t.Parallel()
	i := newIncident(t, 10_000, deadletter.Plan{})
	i.run(nil)
	if got := fmt.Sprint(i.waves); got != "[10 20 40 80 160 320 640 1000 1000 1000 1000 1000 1000 1000 1000 730]" {
		t.Errorf("the waves are %s", got)
	}
	if i.r.State != model.RedriveDone || i.fates[model.ItemSent] != 10_000 || i.r.Behind != 10_000 ||
		i.r.EndedAt != i.now {
		t.Errorf("%+v", i.r)
	}
	if took := i.now.Sub(now); took < 16*deadletter.DefaultObserve || took > 17*deadletter.DefaultObserve {
		t.Errorf("it took %s", took)
	}
}

func TestIncidentOfTwoFixes(t *testing.T) {
	t.Parallel()
	i := newIncident(t, 10_000, deadletter.Plan{})
	i.fate = func(no int) model.ItemState {
		if no == 4 {
			return model.ItemSent
		}
		return model.ItemReturned
	}
	i.run(nil)
	if i.r.State != model.RedriveHalted || i.decided() != 10 ||
		i.r.Halt != "9 of 10 items of the wave came back; the stop rule allows 20 %" {
		t.Fatalf("%q, %d were sent", i.r.Halt, i.decided())
	}
	i.run(nil)
	if last := i.log[len(i.log)-1]; last != "rest" || i.decided() != 10 {
		t.Fatalf("a halted redrive goes on: %s", last)
	}
	i.fate = func(int) model.ItemState { return model.ItemSent }
	i.must(i.r.Continue(i.now))
	i.run(nil)
	if i.r.State != model.RedriveDone || i.decided() != 10_000 || i.waves[1] != deadletter.DefaultCanary ||
		i.r.Wave != len(i.waves) {
		t.Errorf("%+v after waves %v", i.r, i.waves)
	}
}

func TestIncidentHaltsAgain(t *testing.T) {
	t.Parallel()
	i := newIncident(t, 100, deadletter.Plan{})
	i.fate = func(int) model.ItemState { return model.ItemReturned }
	i.run(nil)
	i.must(i.r.Continue(i.now))
	i.run(nil)
	if i.r.State != model.RedriveHalted || i.decided() != 20 || fmt.Sprint(i.waves) != "[10 10]" {
		t.Errorf("%+v, %v", i.r, i.waves)
	}
}

func TestIncidentInMidWave(t *testing.T) {
	t.Parallel()
	i := newIncident(t, 10_000, deadletter.Plan{})
	i.fate = func(no int) model.ItemState {
		if no > 2000 {
			return model.ItemReturned
		}
		return model.ItemSent
	}
	i.group = func(no int) deadletter.GroupID { return deadletter.GroupID(no) }
	i.run(nil)
	if i.r.State != model.RedriveHalted || i.r.WaveSent >= i.r.WaveSize {
		t.Errorf("%+v", i.r)
	}
}

func TestStopRules(t *testing.T) {
	t.Parallel()
	const observing = model.RedriveObserving
	for name, c := range map[string]struct {
		rule  deadletter.StopRule
		ended bool
		o     deadletter.Outcome
		want  string
	}{
		"Few": {deadletter.StopRule{ReturnedShare: 0.2}, false,
			deadletter.Outcome{ItemCounts: model.ItemCounts{Returned: 4}}, ""},
		"Enough": {deadletter.StopRule{ReturnedShare: 0.2}, false,
			deadletter.Outcome{ItemCounts: model.ItemCounts{Returned: 2, Sent: 3}}, "2 of 5 items"},
		"Exactly": {deadletter.StopRule{ReturnedShare: 0.2}, true,
			deadletter.Outcome{ItemCounts: model.ItemCounts{Returned: 2, Sent: 8}}, ""},
		"OneOfOne": {deadletter.StopRule{ReturnedShare: 0.2}, true,
			deadletter.Outcome{ItemCounts: model.ItemCounts{Returned: 1}}, "1 of 1 items"},
		"NotSent": {deadletter.StopRule{ReturnedShare: 0.2}, true,
			deadletter.Outcome{ItemCounts: model.ItemCounts{Returned: 2, Skipped: 99, Failed: 99}}, "2 of 2 items"},
		"Completed": {deadletter.StopRule{ReturnedShare: 0.2}, true,
			deadletter.Outcome{ItemCounts: model.ItemCounts{Returned: 2, Completed: 8}}, ""},
		"All": {deadletter.StopRule{ReturnedShare: 1}, true,
			deadletter.Outcome{ItemCounts: model.ItemCounts{Returned: 9}}, ""},
		"Percent": {deadletter.StopRule{ReturnedShare: 0.0025}, true,
			deadletter.Outcome{ItemCounts: model.ItemCounts{Returned: 9}}, "the stop rule allows 0.25 %"},
		"Failed": {deadletter.StopRule{Failed: 3}, false,
			deadletter.Outcome{ItemCounts: model.ItemCounts{Failed: 3}},
			"3 items of the wave could not be sent; the stop rule allows 2"},
		"FailedLess": {deadletter.StopRule{Failed: 3}, true,
			deadletter.Outcome{ItemCounts: model.ItemCounts{Failed: 2, Returned: 99}}, ""},
		"SamePrint": {deadletter.StopRule{SamePrint: 3}, false,
			deadletter.Outcome{ByGroup: map[deadletter.GroupID]int{9: 3, 8: 3, 7: 2}},
			"3 items of the wave came back in group 0000000000000008; the stop rule allows 2"},
		"SamePrintLess": {deadletter.StopRule{SamePrint: 3}, true,
			deadletter.Outcome{ByGroup: map[deadletter.GroupID]int{9: 2, 8: 2, 7: 2}}, ""},
		"NoRule": {deadletter.StopRule{}, true, deadletter.Outcome{ItemCounts: model.ItemCounts{Returned: 9, Failed: 9},
			ByGroup: map[deadletter.GroupID]int{9: 9}}, ""},
	} {
		r := redriveIn(model.RedriveRunning)
		if c.ended {
			r = redriveIn(observing)
		}
		r.Stop = c.rule
		s := r.Next(now.Add(deadletter.DefaultObserve), c.o)
		if (s.Act == deadletter.ActHalt) != (c.want != "") || !strings.Contains(s.Reason, c.want) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func TestObservation(t *testing.T) {
	t.Parallel()
	r := redriveIn(model.RedriveObserving)
	end := now.Add(deadletter.DefaultObserve)
	sent := deadletter.Outcome{ItemCounts: model.ItemCounts{Sent: 10}}
	if s := r.Next(end-1, sent); s.Act != deadletter.ActWait || s.Until != end {
		t.Errorf("%+v", s)
	}
	if s := r.Next(end, sent); s.Act != deadletter.ActWave || s.N != 20 {
		t.Errorf("%+v", s)
	}
	completed := deadletter.Outcome{ItemCounts: model.ItemCounts{Completed: 8, Skipped: 2}}
	if s := r.Next(now+1, completed); s.Act != deadletter.ActWave {
		t.Errorf("%+v", s)
	}
	sending := deadletter.Outcome{ItemCounts: model.ItemCounts{Completed: 9, Sending: 1}}
	if s := r.Next(now+1, sending); s.Act != deadletter.ActWait {
		t.Errorf("%+v", s)
	}
	both := deadletter.Outcome{ItemCounts: model.ItemCounts{Sent: 1, Sending: 1, Completed: 8}}
	if s := r.Next(now+1, both); s.Act != deadletter.ActWait {
		t.Errorf("%+v", s)
	}
	r.Total = 10
	if s := r.Next(end, sent); s.Act != deadletter.ActDone {
		t.Errorf("%+v", s)
	}
	r.Plan.Observe, r.Total = deadletter.NoObservation, 100
	if s := r.Next(now, sent); s.Act != deadletter.ActWave {
		t.Errorf("%+v", s)
	}
}

// A pause in mid-wave stops immediately; the rest is sent later, once.
func TestIncidentWithPauses(t *testing.T) {
	t.Parallel()
	i := newIncident(t, 5000, deadletter.Plan{Rate: 100})
	i.run(func() bool { return i.decided() > 1000 })
	i.must(i.r.Pause(i.now))
	before := i.decided()
	i.run(nil)
	if i.decided() != before || i.r.State != model.RedrivePaused {
		t.Fatalf("a paused redrive goes on: %+v", i.r)
	}
	i.now = i.now.Add(time.Hour)
	i.must(i.r.Continue(i.now))
	i.run(func() bool { return i.r.State == model.RedriveObserving })
	i.must(i.r.Pause(i.now))
	i.now = i.now.Add(time.Hour)
	i.must(i.r.Continue(i.now))
	if s := i.r.Next(i.now, i.outcome); s.Act != deadletter.ActWait || s.Until != i.now.Add(deadletter.DefaultObserve) {
		t.Errorf("the observation does not begin again: %+v", s)
	}
	i.run(nil)
	if i.r.State != model.RedriveDone || i.decided() != 5000 {
		t.Errorf("%+v, %d", i.r, i.decided())
	}
}

func TestIncidentOfDiscarding(t *testing.T) {
	t.Parallel()
	i := newIncident(t, 2500, deadletter.Plan{})
	i.r.Operation = model.OpDiscard
	i.fate = func(int) model.ItemState { return model.ItemCompleted }
	i.run(nil)
	if fmt.Sprint(i.waves) != "[1000 1000 500]" || i.now.Sub(now) > time.Second || i.r.State != model.RedriveDone {
		t.Errorf("%v in %s: %+v", i.waves, i.now.Sub(now), i.r)
	}
}

func TestIncidentOfNothing(t *testing.T) {
	t.Parallel()
	i := newIncident(t, 0, deadletter.Plan{})
	i.run(nil)
	if i.r.State != model.RedriveDone || i.r.Wave != 0 || len(i.waves) != 0 {
		t.Errorf("%+v", i.r)
	}
}

func TestIncidentOfARefusingBroker(t *testing.T) {
	t.Parallel()
	i := newIncident(t, 1000, deadletter.Plan{})
	i.fate = func(no int) model.ItemState {
		if no > 100 {
			return model.ItemFailed
		}
		return model.ItemSent
	}
	i.run(nil)
	if i.r.State != model.RedriveHalted || i.fates[model.ItemFailed] > 64 {
		t.Errorf("%+v, %v", i.r, i.fates)
	}
	i.must(i.r.Cancel(i.now))
	i.run(nil)
	if i.r.State != model.RedriveCancelled || i.r.EndedAt != i.now {
		t.Errorf("%+v", i.r)
	}
}
