package starvation

import (
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

// The situation: there is always more high work than the workers can do, and sometimes a step of low priority. All work
// takes a round.
//
// Round divides LowEach and the default interval of promotions, so the simulation acts at multiples of Round only.
// LowEach is not a multiple of that interval of 60 s, so low steps become ready at all offsets in it.
const (
	Workers = 4
	Backlog = 20                // waiting steps of high priority, at the end of each round
	Round   = 10 * time.Second  // how long a step takes
	LowEach = 130 * time.Second // one of low priority becomes ready, at any offset between two looks of the loop
	Lasts   = 6 * time.Hour
)

// Curve is the wait of low steps in one mode.
type Curve struct {
	Name string
	// Bound is how long others may overtake; 0: without end. Longest is the longest wait.
	Bound   time.Duration
	Longest time.Duration
	// Taken counts steps that a worker took, Left those that waited at the end.
	Taken  int
	Left   int
	Points []Point
}

// Point is the longest wait at a time since the begin.
type Point struct {
	At   time.Duration
	Wait time.Duration
}

// Allowed is the longest wait in this situation: no step that comes after the bound goes first, and earlier ones have
// to be taken.
func (c Curve) Allowed() time.Duration {
	// At the bound: the backlog, and the low steps that became ready before.
	ahead := Backlog + int(c.Bound/LowEach) + 1
	return c.Bound + time.Duration(ahead/Workers+1)*Round
}

// modes are the configurations compared.
func modes() []struct {
	name string
	cfg  settings.Scheduling
} {
	return []struct {
		name string
		cfg  settings.Scheduling
	}{
		{"strict, no max_wait", settings.Scheduling{Mode: task.Strict, MaxWait: -1}},
		{"strict", settings.Scheduling{Mode: task.Strict}},
		{"promote", settings.Scheduling{Mode: task.Promote}},
		{"aging", settings.Scheduling{Mode: task.Aging}},
	}
}

// Run simulates every mode. It takes some seconds, or until ctx ends.
func Run(ctx context.Context) ([]Curve, error) {
	var curves []Curve
	for _, m := range modes() {
		s, err := newSimulation(ctx, settings.Config{Scheduling: m.cfg})
		if err != nil {
			return nil, err
		}
		c, err := s.run()
		if err != nil {
			return nil, fmt.Errorf("simulate %s: %w", m.name, err)
		}
		c.Name = m.name
		curves = append(curves, c)
	}
	return curves, nil
}

type simulation struct {
	ctx    context.Context
	engine *engine.Engine
	begin  time.Time
	now    time.Time
	worker task.ID

	high, low int // levels
	waitsHigh int
	waitsLow  []time.Time // since when, the oldest first
	curve     Curve
}

// newSimulation opens an engine on an empty store, with the simulation's clock and one worker with the capacity of all.
// The curve's bound comes from the engine's order.
func newSimulation(ctx context.Context, cfg settings.Config) (*simulation, error) {
	s := &simulation{ctx: ctx, begin: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	s.now = s.begin
	var err error
	if s.engine, err = engine.New(ctx, memstore.New(nil), engine.Options{Config: cfg, Now: func() time.Time {
		return s.now
	}}); err != nil {
		return nil, fmt.Errorf("open the engine: %w", err)
	}
	s.high, _ = s.engine.Level("high")
	s.low, _ = s.engine.Level("low")
	w, err := s.engine.Register(ctx, task.Worker{Name: "all of them", Capacity: Workers})
	if err != nil {
		return nil, fmt.Errorf("register workers: %w", err)
	}
	s.worker = w.ID
	if most, bounded := s.engine.Order().Overtaken(s.low, s.high); bounded {
		s.curve.Bound = most
		if s.engine.Order().Mode != task.Aging { // needs the loop of promotions
			s.curve.Bound += s.engine.Config().Scheduling.PromotionInterval
		}
	}
	return s, nil
}

// run simulates Lasts, round by round. The first round takes Workers steps, so it submits that many more.
func (s *simulation) run() (Curve, error) {
	if err := s.submit("high", Backlog+Workers); err != nil {
		return Curve{}, err
	}
	s.waitsHigh = Backlog + Workers
	for ; s.now.Sub(s.begin) < Lasts; s.now = s.now.Add(Round) {
		if err := s.round(); err != nil {
			return Curve{}, err
		}
	}
	s.curve.Left = len(s.waitsLow)
	return s.curve, nil
}

// round completes the begun steps and polls for more. The promotion precedes the poll, so that overdue steps can be
// taken; the backlog is filled last, so that every poll finds at least Backlog high steps.
func (s *simulation) round() error {
	since := s.now.Sub(s.begin)
	if since%LowEach == 0 {
		if err := s.submit("low", 1); err != nil {
			return err
		}
		s.waitsLow = append(s.waitsLow, s.now)
	}
	if since%s.engine.Config().Scheduling.PromotionInterval == 0 {
		if err := s.promote(); err != nil {
			return err
		}
	}
	if err := s.take(); err != nil {
		return err
	}
	short := Backlog - s.waitsHigh
	s.waitsHigh += short
	return s.submit("high", short)
}

func (s *simulation) submit(priority string, n int) error {
	if n <= 0 {
		return nil
	}
	subs := make([]engine.Submission, n)
	for i := range subs {
		subs[i] = engine.Submission{TaskType: "work", Priority: priority}
	}
	_, err := s.engine.Submit(s.ctx, subs, false)
	return err
}

// promote is one turn of the promotion loop.
func (s *simulation) promote() error {
	stretches, err := s.engine.Overdue(s.ctx)
	for _, st := range stretches {
		for more := true; more && err == nil; {
			_, more, err = s.engine.Promote(s.ctx, st)
		}
	}
	return err
}

// take lets the workers take the first steps, and settles them. The curve's point is the wait of the oldest low step
// before the poll. Fewer steps than workers are an error: without saturation the curve would show nothing.
func (s *simulation) take() error {
	longest := time.Duration(0)
	if len(s.waitsLow) > 0 {
		longest = s.now.Sub(s.waitsLow[0])
	}
	leases, _, err := s.engine.Poll(s.ctx, s.worker, Workers, 0, true)
	if err != nil {
		return err
	}
	if len(leases) != Workers {
		return fmt.Errorf("%d workers got %d steps", Workers, len(leases))
	}
	results := make([]engine.Result, len(leases))
	for i, l := range leases {
		results[i] = engine.Result{Step: l.Step.ID, Token: l.Step.Token, Status: engine.ResultCompleted}
		if l.Step.Priority == s.low {
			s.waitsLow = s.waitsLow[1:] // first come, first served
			s.curve.Taken++
			continue
		}
		s.waitsHigh--
	}
	s.curve.Longest = max(s.curve.Longest, longest)
	s.curve.Points = append(s.curve.Points, Point{s.now.Sub(s.begin), longest})
	_, err = s.engine.Settle(s.ctx, results)
	return err
}
