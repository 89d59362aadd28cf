//go:build unix

package crashtest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/proof/crashtest"
)

var moments = []crashtest.Moment{
	crashtest.SubmitSent, crashtest.BatchSent, crashtest.SubmitAcked, crashtest.HandedOut,
	crashtest.ResultSent, crashtest.ResultAcked, crashtest.CancelSent, crashtest.ActSent,
	crashtest.LargeSent, crashtest.LargeAcked,
	crashtest.SignalSent, crashtest.SignalAcked,
}

// killer kills the server: after a random time, at a chosen moment, or during its start.
type killer struct {
	server *process.Server
	probe  *tasker.Client
	rng    *rand.Rand

	mu     sync.Mutex
	moment crashtest.Moment // the moment of the trap; "" for none
	delay  time.Duration    // from the moment to the kill
	sprung chan struct{}    // closed by the kill

	kills      int // of a server that was at work
	early      int // of one that had not begun to work
	byOccasion map[string]int
	recoveries []time.Duration
}

func newKiller(s *process.Server, probe *tasker.Client, rng *rand.Rand) *killer {
	return &killer{server: s, probe: probe, rng: rng, byOccasion: map[string]int{}}
}

func (k *killer) start(ctx context.Context) (time.Duration, error) {
	begun := time.Now()
	if err := k.server.Start(ctx); err != nil {
		return 0, err
	}
	if _, err := k.probe.Tasks(ctx, tasker.TaskFilter{Limit: 1}); err != nil {
		return 0, fmt.Errorf("first request to the server: %w", err)
	}
	return time.Since(begun), nil
}

// tell runs in the goroutine of the moment, and so does the kill: nothing else happens in between.
func (k *killer) tell(m crashtest.Moment) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.moment != m {
		return
	}
	k.moment = ""
	sprung := k.sprung
	strike := func() {
		k.server.Kill()
		close(sprung)
	}
	if k.delay == 0 {
		strike()
		return
	}
	time.AfterFunc(k.delay, strike)
}

// birth kills n servers in sequence while they create the file and its schema.
func (k *killer) birth(ctx context.Context, n int) error {
	for range n {
		if err := k.server.Launch(); err != nil {
			return err
		}
		if err := k.pause(ctx, 0, 40*time.Millisecond); err != nil {
			return err
		}
		k.server.Kill()
		k.early++
		k.server.Gone()
		k.byOccasion["at birth"]++
	}
	return nil
}

func (k *killer) run(ctx context.Context, n int) error {
	for k.kills < n {
		occasion, err := k.strike(ctx)
		if err != nil {
			return err
		}
		k.byOccasion[occasion]++
		k.server.Gone()
		took, err := k.start(ctx)
		if err != nil {
			return fmt.Errorf("after kill %d (%s): %w", k.kills, occasion, err)
		}
		k.recoveries = append(k.recoveries, took)
	}
	return nil
}

// strike kills the server once, and sometimes the next one, too.
func (k *killer) strike(ctx context.Context) (string, error) {
	// Some load in between: this random time is the only wait here.
	if err := k.pause(ctx, 100*time.Millisecond, 900*time.Millisecond); err != nil {
		return "", err
	}
	switch kind := k.rng.IntN(10); {
	case kind < 2:
		k.kill()
		return "at any time", nil
	case kind < 4:
		k.kill()
		return "while starting", k.whileStarting(ctx, 1+k.rng.IntN(2))
	}
	return k.trap(ctx)
}

func (k *killer) kill() {
	k.server.Kill()
	k.kills++
}

// whileStarting kills n servers that have just begun to recover.
func (k *killer) whileStarting(ctx context.Context, n int) error {
	for range n {
		k.server.Gone()
		if err := k.server.Launch(); err != nil {
			return err
		}
		if err := k.pause(ctx, 0, 60*time.Millisecond); err != nil {
			return err
		}
		k.server.Kill()
		k.early++
	}
	return nil
}

// trap kills at the next moment of one kind, or a little later.
func (k *killer) trap(ctx context.Context) (string, error) {
	m := moments[k.rng.IntN(len(moments))]
	sprung := make(chan struct{})
	k.mu.Lock()
	k.moment, k.sprung, k.delay = m, sprung, 0
	if k.rng.IntN(2) == 0 {
		k.delay = time.Duration(k.rng.Int64N(int64(4 * time.Millisecond)))
	}
	k.mu.Unlock()

	patience := time.NewTimer(2 * time.Second)
	defer patience.Stop()
	select {
	case <-sprung:
		k.kills++
		return string(m), nil
	case <-ctx.Done():
		return "", ctx.Err()
	case <-patience.C:
	}
	k.mu.Lock()
	set := k.moment == m
	k.moment = ""
	k.mu.Unlock()
	if !set { // it has just sprung
		<-sprung
		k.kills++
		return string(m), nil
	}
	k.kill()
	return "at any time", nil
}

// pause lets the load continue for a random time.
func (k *killer) pause(ctx context.Context, least, most time.Duration) error {
	return clock.Sleep(ctx, least+time.Duration(k.rng.Int64N(int64(most-least))))
}

// recovery returns the median and the longest time from start to first answer.
func (k *killer) recovery() (p50, longest time.Duration) {
	if len(k.recoveries) == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(k.recoveries))
	return sorted[len(sorted)/2], sorted[len(sorted)-1]
}
