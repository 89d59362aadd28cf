//go:build unix

package letters_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/testkit/process"
)

// killer kills a node when it reaches a stage, or at any time.
type killer struct {
	rng     *rand.Rand
	servers map[string]*process.Server // by the names of the nodes

	mu     sync.Mutex
	trap   stage         // the stage of the next kill; "" for none
	delay  time.Duration // from the stage to the kill
	freeze bool          // the node is frozen during the delay
	sprung chan string   // gets the name of the node

	patient bool // there is time to freeze nodes
	kills   int
	frozen  int // of the kills
	byStage map[stage]int
}

// frozen is how long a node stands still before its kill: longer than others leave its source to it.
const frozen = 8 * time.Second

func newKiller(rng *rand.Rand) *killer {
	return &killer{rng: rng, servers: map[string]*process.Server{}, byStage: map[stage]int{}}
}

// at kills the node at the stage of the trap. It reports whether the node is alive.
func (k *killer) at(node string, s stage) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	server := k.servers[node]
	if server == nil || k.trap != s {
		return server == nil || server.Up()
	}
	k.trap = ""
	sprung := k.sprung
	if k.freeze {
		server.Freeze()
	}
	if k.delay > 0 { // the node continues until then, unless it is frozen
		time.AfterFunc(k.delay, func() {
			server.Kill()
			sprung <- node
		})
		return !k.freeze
	}
	server.Kill()
	server.Gone() // no later act of the broker is answered
	sprung <- node
	return false
}

// run kills n times. Before each kill some messages die.
func (k *killer) run(ctx context.Context, n int, before func()) error {
	order := k.rng.Perm(len(stages))
	k.patient = n >= len(stages)
	for k.kills < n {
		before()
		node, s, err := k.strike(ctx, stages[order[k.kills%len(stages)]])
		if err != nil {
			return err
		}
		k.kills++
		k.byStage[s]++
		k.servers[node].Gone()
		if len(k.servers) > 1 { // the others take over, or not yet
			if err := clock.Sleep(ctx, time.Duration(k.rng.IntN(1500))*time.Millisecond); err != nil {
				return err
			}
		}
		if err := k.servers[node].Start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// strike kills a node at a stage, or at any time if none reaches the stage.
func (k *killer) strike(ctx context.Context, s stage) (node string, at stage, err error) {
	sprung := make(chan string, 1)
	k.mu.Lock()
	k.trap, k.sprung, k.delay, k.freeze = s, sprung, 0, false
	switch {
	case k.patient && len(k.servers) > 1 && s == committed && k.rng.IntN(2) == 0:
		// Another node reads, redrives and sees letters return before the broker gets back this one's stored messages.
		k.delay, k.freeze = frozen, true
		k.frozen++
	case s == received || k.rng.IntN(3) == 0:
		k.delay = 1 + time.Duration(k.rng.Int64N(int64(30*time.Millisecond)))
	}
	k.mu.Unlock()
	patience := time.NewTimer(8 * time.Second)
	defer patience.Stop()
	select {
	case node = <-sprung:
		return node, s, nil
	case <-ctx.Done():
		return "", "", ctx.Err()
	case <-patience.C:
	}
	k.mu.Lock()
	set := k.trap == s
	k.trap = ""
	k.mu.Unlock()
	if !set { // it has just sprung
		return <-sprung, s, nil
	}
	names := []string{"0", "1"}[:len(k.servers)]
	node = names[k.rng.IntN(len(names))]
	k.servers[node].Kill()
	return node, "at any time", nil
}
