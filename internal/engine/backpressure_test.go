package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/memstore"
)

func pressed(t *testing.T, b settings.Backpressure) (*engine.Engine, func(time.Duration)) {
	t.Helper()
	var now atomic.Int64
	now.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMicro())
	s := memstore.New(&memstore.Options{Seed: 1})
	e, err := engine.New(t.Context(), s, engine.Options{Config: settings.Config{Backpressure: b}, Now: func() time.Time {
		return time.UnixMicro(now.Load()).UTC()
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return e, func(d time.Duration) { now.Add(d.Microseconds()) }
}

func mail(priority string) engine.Submission {
	return engine.Submission{TaskType: "mail", Priority: priority, Queued: true}
}

func many(n int, s engine.Submission) []engine.Submission {
	out := make([]engine.Submission, n)
	for i := range out {
		out[i] = s
	}
	return out
}

func refused(t *testing.T, e *engine.Engine, code task.Code, subs ...engine.Submission) *task.Error {
	t.Helper()
	receipts, err := e.Submit(t.Context(), subs, false)
	var refusal *task.Error
	if !errors.As(err, &refusal) || refusal.Code != code || receipts != nil {
		t.Fatalf("the answer is %v, %v; want %s", receipts, err, code)
	}
	if code != task.TooLarge && refusal.RetryAfter <= 0 {
		t.Errorf("%v does not say when to come back", refusal)
	}
	return refusal
}

func TestTiers(t *testing.T) {
	t.Parallel()
	config := settings.Backpressure{Soft: 10, HighOnly: 20, AllowListOnly: 30, AllowList: []string{"vip",
		"video/render", "a/b/c"}}
	// fill is on the allow-list
	fill := func(t *testing.T, e *engine.Engine, n int) {
		t.Helper()
		submit(t, e, many(n, engine.Submission{TaskType: "vip", Queued: true})...)
	}
	vip := engine.Submission{TaskType: "vip", Priority: "low", Queued: true}
	render := engine.Submission{TaskType: "render", Namespace: "video", Priority: "0", Queued: true}
	elsewhere := engine.Submission{TaskType: "render", Priority: "100", Queued: true}
	direct := engine.Submission{TaskType: "mail", Priority: "low"}
	slashed := engine.Submission{TaskType: "b/c", Namespace: "a", Priority: "0", Queued: true}
	joined := engine.Submission{TaskType: "c", Namespace: "a/b", Priority: "100", Queued: true}

	for _, c := range []struct {
		depth    int
		accepted []engine.Submission
		refused  []engine.Submission
	}{
		{9, []engine.Submission{mail("low")}, nil},
		{10, []engine.Submission{mail("high"), mail("51"), vip, render, direct},
			[]engine.Submission{mail(""), mail("medium"), mail("low"), mail("0")}},
		{20, []engine.Submission{mail("high"), mail("100"), vip, direct},
			[]engine.Submission{mail("74"), mail("51"), mail("")}},
		{30, []engine.Submission{vip, render, direct, slashed},
			[]engine.Submission{mail("high"), mail("100"), elsewhere, joined}},
	} {
		t.Run(fmt.Sprint(c.depth), func(t *testing.T) {
			t.Parallel()
			for i, s := range c.accepted {
				e, _ := pressed(t, config)
				fill(t, e, c.depth)
				if _, err := e.Submit(t.Context(), []engine.Submission{s}, false); err != nil {
					t.Errorf("submission %d is refused: %v", i, err)
				}
			}
			for i, s := range c.refused {
				e, _ := pressed(t, config)
				fill(t, e, c.depth)
				if err := refused(t, e, task.Exhausted, s); !strings.Contains(err.Message,
					fmt.Sprintf("%d steps are ready", c.depth)) {
					t.Errorf("submission %d is refused with %q", i, err.Message)
				}
			}
		})
	}
	t.Run("ABatchIsRefusedWhole", func(t *testing.T) {
		t.Parallel()
		e, _ := pressed(t, config)
		fill(t, e, 10)
		err := refused(t, e, task.Exhausted, mail("high"), vip, mail("low"))
		if len(err.Problems) != 1 || err.Problems[0].Location != "/tasks/2" {
			t.Errorf("the problem is at %+v", err.Problems)
		}
		if p := e.Pressure(); p.Refused[engine.OverSoft] != 3 || p.Tier != engine.OverSoft || p.Depth != 10 {
			t.Errorf("the pressure is %+v", p)
		}
		if n, err := e.Depth(t.Context(), 1, 1<<62, task.ID{}, 100); err != nil || n != 10 {
			t.Errorf("%d steps are there, %v", n, err)
		}
	})
	t.Run("ItemErrors", func(t *testing.T) {
		t.Parallel()
		e, _ := pressed(t, config)
		fill(t, e, 10)
		receipts, err := e.Submit(t.Context(), []engine.Submission{mail("low"), {}}, true)
		if err != nil || task.CodeOf(receipts[0].Err) != task.Exhausted || task.CodeOf(receipts[1].Err) != task.Invalid {
			t.Errorf("the receipts are %+v, %v", receipts, err)
		}
	})
	t.Run("ScopeAll", func(t *testing.T) {
		t.Parallel()
		all := config
		all.Scope = settings.AllScope
		e, _ := pressed(t, all)
		fill(t, e, 10)
		refused(t, e, task.Exhausted, direct)
	})
	t.Run("Never", func(t *testing.T) {
		t.Parallel()
		e, _ := pressed(t, settings.Backpressure{Soft: -1, HighOnly: -1, AllowListOnly: 5})
		submit(t, e, many(5, mail("low"))...)
		refused(t, e, task.Exhausted, mail("high"))
	})
}

// The background count is adjusted by what this process adds and hands out.
func TestDepthIsFollowed(t *testing.T) {
	t.Parallel()
	e, tick := pressed(t, settings.Backpressure{Soft: 3})
	w := register(t, e, 10)
	submit(t, e, mail(""))
	submit(t, e, mail("")) // the clock is unchanged: no new count
	submit(t, e, mail(""))
	if err := refused(t, e, task.Exhausted, mail("")); err.RetryAfter != time.Minute {
		t.Errorf("nothing has moved yet, and the advice is to come back in %s", err.RetryAfter)
	}
	for range 2 {
		settle(t, e, poll(t, e, w, true), engine.Result{Status: engine.ResultCompleted})
	}
	submit(t, e, mail(""), mail(""))
	if err := refused(t, e, task.Exhausted, mail("")); err.RetryAfter >= time.Minute || err.RetryAfter < time.Second {
		t.Errorf("two steps have left the queue, and the advice is to come back in %s", err.RetryAfter)
	}
	if _, err := e.Cancel(t.Context(), []task.ID{submit(t, e, mail("high"))[0].ID},
		engine.Cancellation{Actor: "ann", Reason: "late"}); err != nil {
		t.Fatal(err)
	}
	leases, _, err := e.Poll(t.Context(), w.ID, 3, 0, true)
	if err != nil || len(leases) != 3 {
		t.Fatalf("the poll brought %d steps, %v", len(leases), err)
	}
	tick(time.Hour) // too old: counted again before the answer
	submit(t, e, mail(""))
	if p := e.Pressure(); p.Depth != 1 || p.Tier != "" {
		t.Errorf("the pressure is %+v", p)
	}
}

func TestUserLimits(t *testing.T) {
	t.Parallel()
	e, tick := pressed(t, settings.Backpressure{UserBurst: 2, UserSustained: 3})
	of := func(key, user string) engine.Submission {
		s := mail("")
		s.Caller, s.Meta.Initiator = key, user
		return s
	}
	submit(t, e, of("web", "ann"), of("web", "ann"), of("web", "bob"))
	if err := refused(t, e, task.Exhausted, of("web", "ann")); err.RetryAfter > 61*time.Second {
		t.Errorf("the advice is to come back in %s", err.RetryAfter)
	}
	refused(t, e, task.Exhausted, of("web", "bob"), of("web", "ann"))
	submit(t, e, of("web", "bob"), of("app", "ann"), of("web", ""))
	tick(61 * time.Second)
	submit(t, e, of("web", "ann"))
	if err := refused(t, e, task.Exhausted, of("web", "ann")); err.RetryAfter < 50*time.Minute {
		t.Errorf("the hour's tasks are used up, and the advice is to come back in %s", err.RetryAfter)
	}
	refused(t, e, task.TooLarge, many(3, of("web", "eve"))...)
	p := e.Pressure()
	if p.Refused[engine.OverBurst] != 1+2+3 || p.Refused[engine.OverSustained] != 1 {
		t.Errorf("refused are %v", p.Refused)
	}
	submit(t, e, many(50, engine.Submission{TaskType: "mail"})...)
}

func TestOverload(t *testing.T) {
	t.Parallel()
	s := &busyStore{Database: memstore.New(&memstore.Options{Seed: 1}), arrived: make(chan struct{}, 10),
		release: make(chan struct{})}
	e, err := engine.New(t.Context(), s,
		engine.Options{Config: settings.Config{Backpressure: settings.Backpressure{NormalLoad: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	submit(t, e, mail(""))
	s.slow.Store(true)
	done := make(chan error)
	go func() {
		_, err := e.Submit(t.Context(), many(4, mail("")), false)
		done <- err
	}()
	<-s.arrived
	if p := e.Pressure(); p.Active != 4 || !p.Overloaded || p.NormalLoad != 2 {
		t.Errorf("the pressure is %+v", p)
	}
	refused(t, e, task.Unavailable, mail("high"))
	close(s.release)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	submit(t, e, mail(""))
	if p := e.Pressure(); p.Active != 0 || p.Overloaded || p.Refused[engine.Overloaded] != 1 {
		t.Errorf("the pressure is %+v", p)
	}
}

func TestBackpressureConfig(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config settings.Backpressure
		want   string
	}{
		"Scope":     {settings.Backpressure{Scope: "some"}, "backpressure.scope"},
		"Order":     {settings.Backpressure{Soft: 100, HighOnly: 99}, "must not be less than backpressure.soft"},
		"Negative":  {settings.Backpressure{Soft: -2}, "backpressure.soft"},
		"Huge":      {settings.Backpressure{AllowListOnly: 1 << 40}, "backpressure.allow_list_only"},
		"EmptyName": {settings.Backpressure{AllowList: []string{""}}, "allow_list"},
		"Burst":     {settings.Backpressure{UserBurst: -1}, "user_burst"},
		"Sustained": {settings.Backpressure{UserSustained: -1}, "user_sustained"},
		"Load":      {settings.Backpressure{NormalLoad: -2}, "normal_load"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := settings.Config{Backpressure: c.config}.WithDefaults().Validate()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v; want one about %s", err, c.want)
			}
		})
	}
}

type busyStore struct {
	engine.Database
	slow             atomic.Bool
	arrived, release chan struct{}
}

func (s *busyStore) Write(ctx context.Context, fn func(context.Context, engine.Tx) error) error {
	if s.slow.Load() {
		s.arrived <- struct{}{}
		<-s.release
	}
	return s.Database.Write(ctx, fn)
}
