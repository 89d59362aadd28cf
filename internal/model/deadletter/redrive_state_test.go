package deadletter_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func redriveIn(s model.RedriveState) *deadletter.Redrive {
	r := &deadletter.Redrive{ID: redriveID, Operation: model.OpRedrive, State: s, StateAt: now, Total: 100,
		Plan: deadletter.Plan{}.WithDefaults(), Stop: deadletter.StopRule{}.WithDefaults(), Version: 1}
	if s != model.RedriveDraft {
		r.StartedAt, r.Wave, r.WaveSize, r.WaveSent, r.Behind, r.WaveBegan = now, 1, 10, 4, 4, now
	}
	switch s {
	case model.RedriveObserving:
		r.WaveSent, r.Behind = 10, 10
	case model.RedrivePaused:
		r.Resume = model.RedriveRunning
	case model.RedriveHalted:
		r.Halt = "too many"
	}
	return r
}

func TestRedriveTransitions(t *testing.T) {
	t.Parallel()
	const (
		draft, running, observing, paused = model.RedriveDraft, model.RedriveRunning,
			model.RedriveObserving, model.RedrivePaused
		halted, done, cancelled = model.RedriveHalted, model.RedriveDone, model.RedriveCancelled
	)
	type states = []model.RedriveState
	reached := map[string]bool{}
	for name, act := range map[string]struct {
		do   func(r *deadletter.Redrive) error
		from states
		to   model.RedriveState
	}{
		"Start":    {func(r *deadletter.Redrive) error { return r.Start(now + 1) }, states{draft}, running},
		"Pause":    {func(r *deadletter.Redrive) error { return r.Pause(now + 1) }, states{running, observing}, paused},
		"Continue": {func(r *deadletter.Redrive) error { return r.Continue(now + 1) }, states{paused, halted}, running},
		"ContinueObserving": {func(r *deadletter.Redrive) error {
			if r.State == paused {
				r.Resume = observing
			} else if r.State == halted {
				return task.Errorf(task.WrongState, "covered by Continue")
			}
			return r.Continue(now + 1)
		}, states{paused}, observing},
		"Cancel": {func(r *deadletter.Redrive) error { return r.Cancel(now + 1) },
			states{draft, running, observing, paused, halted}, cancelled},
		"Halt": {func(r *deadletter.Redrive) error {
			return r.Apply(deadletter.Step{Act: deadletter.ActHalt, Reason: "too many"}, now+1)
		}, states{running, observing}, halted},
		"End": {func(r *deadletter.Redrive) error { return r.Apply(deadletter.Step{Act: deadletter.ActDone}, now+1) },
			states{running, observing}, done},
		"Wave": {func(r *deadletter.Redrive) error {
			return r.Apply(deadletter.Step{Act: deadletter.ActWave, N: 5}, now+1)
		},
			states{running, observing}, running},
	} {
		for _, from := range model.RedriveStates {
			r := redriveIn(from)
			if name == "ContinueObserving" && from == paused {
				r.Resume = observing
			}
			before := fmt.Sprintf("%+v", *r)
			err := act.do(r)
			if !slices.Contains(act.from, from) {
				if task.CodeOf(err) != task.WrongState || fmt.Sprintf("%+v", *r) != before {
					t.Errorf("%s of a redrive that is %s: %v, %+v", name, from, err, r)
				}
				continue
			}
			reached[string(from+" "+act.to)] = true
			if err != nil || r.State != act.to || r.Version != 2 || (r.EndedAt != 0) != act.to.Ended() ||
				(r.Halt != "") != (act.to == halted) || (r.Resume != "") != (act.to == paused) {
				t.Errorf("%s of a redrive that is %s: %v, %+v", name, from, err, r)
			}
		}
	}
	r := redriveIn(running)
	if err := r.Decided(6, 10, now+1); err != nil || r.State != observing || r.StateAt != now+1 {
		t.Errorf("after its wave it is %s: %v", r.State, err)
	}
	reached[string(running+" "+observing)] = true
	for _, from := range model.RedriveStates {
		for _, to := range from.Next() {
			if !reached[string(from+" "+to)] || !slices.Contains(model.RedriveStates, to) {
				t.Errorf("no act leads from %s to %s", from, to)
			}
		}
		if from.Ended() != (len(from.Next()) == 0) {
			t.Errorf("%s is final: %t", from, from.Ended())
		}
	}
}

// Sends under way when an operator acts are counted.
func TestDecidedInEveryState(t *testing.T) {
	t.Parallel()
	for _, s := range model.RedriveStates {
		r := redriveIn(s)
		sent := r.WaveSent
		if err := r.Decided(3, 7, now+1); err != nil || r.WaveSent != sent+3 || r.Behind < 7 {
			t.Errorf("%s: %v, %+v", s, err, r)
		}
		if err := r.Decided(0, 0, now+1); err != nil || r.WaveSent != sent+3 {
			t.Errorf("%s, nothing: %v, %+v", s, err, r)
		}
	}
	r := redriveIn(model.RedrivePaused)
	_ = r.Decided(6, 10, now+1)
	if err := r.Continue(now + 2); err != nil || r.State != model.RedriveObserving || r.StateAt != now+2 {
		t.Errorf("the wave ended during the pause: %v, %+v", err, r)
	}
}

func TestRestingRedrives(t *testing.T) {
	t.Parallel()
	for _, s := range model.RedriveStates {
		step := redriveIn(s).Next(now+1, deadletter.Outcome{})
		if (step.Act == deadletter.ActRest) == s.Active() {
			t.Errorf("%s: %+v", s, step)
		}
	}
}

// Late or frequent calls never exceed the plan's rate or catch up after a pause.
func TestRate(t *testing.T) {
	t.Parallel()
	r := redriveIn(model.RedriveRunning)
	r.Total, r.WaveSize, r.WaveSent, r.Behind, r.Plan.Rate = 10_000, 1000, 0, 0, 20
	at := now
	send := func(until task.Instant) (sent int) {
		for at < until {
			switch s := r.Next(at, deadletter.Outcome{}); s.Act {
			case deadletter.ActSend:
				sent += s.N
				if err := r.Decided(s.N, r.Behind+s.N, at); err != nil {
					t.Fatal(err)
				}
			case deadletter.ActWait:
				if s.Until <= at {
					t.Fatalf("it waits until %d at %d", s.Until, at)
				}
				at = s.Until
			default:
				t.Fatalf("%+v", s)
			}
		}
		return sent
	}
	if n := send(now.Add(10 * time.Second)); n < 199 || n > 201 {
		t.Errorf("%d in 10 s", n)
	}
	at = at.Add(time.Hour)
	if n := send(at.Add(10 * time.Second)); n < 218 || n > 222 {
		t.Errorf("%d in the 10 s after an outage: one second is caught up on", n)
	}
	_ = r.Pause(at)
	at = at.Add(time.Hour)
	_ = r.Continue(at)
	if n := send(at.Add(10 * time.Second)); n < 199 || n > 201 {
		t.Errorf("%d in the 10 s after a pause", n)
	}
}

// TestRateIsExact: a token is due at its exact microsecond.
func TestRateIsExact(t *testing.T) {
	t.Parallel()
	r := redriveIn(model.RedriveRunning)
	r.Total, r.WaveSize, r.WaveSent, r.WaveBegan, r.Plan.Rate = 100, 100, 3, now, 10
	if s := r.Next(now+300_000, deadletter.Outcome{}); s.Act != deadletter.ActSend || s.N != 1 {
		t.Errorf("at its time: %+v", s)
	}
	r.Plan.Rate, r.WaveSent, r.WaveSize = 1000, 1, 1000
	if s := r.Next(now, deadletter.Outcome{}); s.Act != deadletter.ActWait || s.Until != now+100_000 {
		t.Errorf("a fast one waits for the tokens of 100 ms: %+v", s)
	}
	r.Plan.Rate, r.WaveSent, r.WaveSize = 10, 3, 100
	if s := r.Next(now+299_999, deadletter.Outcome{}); s.Act != deadletter.ActWait || s.Until != now+300_000 {
		t.Errorf("before: %+v", s)
	}
}

func TestWithoutRate(t *testing.T) {
	t.Parallel()
	r := redriveIn(model.RedriveDraft)
	if err := r.Start(now); err != nil || r.StartedAt != now {
		t.Fatalf("started at %d, %v", r.StartedAt, err)
	}
	r.WaveSent, r.WaveBegan = 10, now
	version := r.Version
	if err := r.Apply(deadletter.Step{Act: deadletter.ActWave, N: 5}, now+7); err != nil || r.WaveBegan != now+7 {
		t.Errorf("the wave begins at %d, %v", r.WaveBegan, err)
	}
	if r.Version != version+1 {
		t.Errorf("the version is %d", r.Version)
	}
	if err := r.Decided(0, 0, now); err != nil || r.Version != version+1 {
		t.Errorf("nothing was decided: %+v, %v", r, err)
	}
	if err := r.Decided(2, 2, now); err != nil || r.Version != version+2 {
		t.Errorf("the version is %d, %v", r.Version, err)
	}
}

// TestHaltNamesOneGroup: among equal counts, the reason names the lowest ID.
func TestHaltNamesOneGroup(t *testing.T) {
	t.Parallel()
	r := redriveIn(model.RedriveRunning)
	r.Wave, r.WaveSize, r.Stop = 1, 100, deadletter.StopRule{SamePrint: 5}
	o := deadletter.Outcome{ItemCounts: model.ItemCounts{Returned: 30}, ByGroup: map[deadletter.GroupID]int{}}
	for g := range deadletter.GroupID(6) {
		o.ByGroup[g+1] = 5
	}
	o.ByGroup[0] = 1
	for range 50 { // map order varies
		if s := r.Next(now, o); !strings.Contains(s.Reason, "5 items of the wave came back in group 0000000000000001") {
			t.Fatalf("%+v", s)
		}
	}
}

func TestRateOverWaves(t *testing.T) {
	t.Parallel()
	r := redriveIn(model.RedriveDraft)
	r.Plan = deadletter.Plan{Canary: 1, Factor: 1, Largest: 1, Observe: deadletter.NoObservation, Rate: 2}
	_ = r.Start(now)
	sent, at := 0, now
	for at < now.Add(10*time.Second) {
		s := r.Next(at, deadletter.Outcome{})
		switch s.Act {
		case deadletter.ActSend:
			sent += s.N
			_ = r.Decided(s.N, r.Behind+s.N, at)
		case deadletter.ActWait:
			at = s.Until
		default:
			_ = r.Apply(s, at)
		}
	}
	if sent < 20 || sent > 21 {
		t.Errorf("%d in 10 s", sent)
	}
}
