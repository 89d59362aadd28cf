// Package fault is all that goes wrong in a chaos run: nodes are killed,
// PostgreSQL stops, the network between them breaks, connections run out. A
// fault strikes, lasts, and is healed; what it does to callers is for others to
// watch.
package fault

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/taskerhq/tasker/chaos/internal/cluster"
)

// Scene is where a fault strikes.
type Scene struct {
	*cluster.Cluster
	Balancer *cluster.Balancer
	Rand     *rand.Rand
	// Crowd lets n more callers loose on a node, until the function that it
	// returns is called; that waits for them.
	Crowd func(ctx context.Context, n int, node *cluster.Node) (disperse func() error)
}

// Fault is one kind of thing that goes wrong.
type Fault struct {
	Name   string
	weight int              // how often it is in a Round
	hold   [2]time.Duration // how long it lasts
	strike func(ctx context.Context, s *Scene) (*Wound, error)
}

// Wound is a fault at work.
type Wound struct {
	// What tells more than the name of the fault.
	What string
	// Nodes are those that suffer.
	Nodes []*cluster.Node
	// Blind says that the Nodes are up and cannot reach the database: every
	// request that begins now has to be refused until the wound is healed.
	Blind bool
	// Kills is how many nodes were killed.
	Kills int

	heal func(ctx context.Context) (time.Time, error)
}

// Strike makes it happen, and returns how long it is to last.
func (f *Fault) Strike(ctx context.Context, s *Scene) (*Wound, time.Duration, error) {
	w, err := f.strike(ctx, s)
	return w, between(s.Rand, f.hold[0], f.hold[1]), err
}

// Heal ends it, and returns the time from which on nothing was wrong any more:
// PostgreSQL answers, connections can be made, the process of a node was started
// which then came up.
func (w *Wound) Heal(ctx context.Context) (time.Time, error) { return w.heal(ctx) }

// Round returns every kind of fault, some of them several times, in an order of
// rng's choice; those of Redis where it is used.
func Round(rng *rand.Rand, redis bool) []Fault {
	all := kinds()
	if redis {
		all = append(all, ofRedis()...)
	}
	var round []Fault
	for _, f := range all {
		for range f.weight {
			round = append(round, f)
		}
	}
	rng.Shuffle(len(round), func(i, k int) { round[i], round[k] = round[k], round[i] })
	return round
}

const ms = time.Millisecond

func kinds() []Fault {
	short, outage, stall := [2]time.Duration{0, 200 * ms}, [2]time.Duration{300 * ms, 1500 * ms},
		[2]time.Duration{500 * ms, 4000 * ms}
	return []Fault{
		{"node killed", 7, short, killAtMoment},
		{"node killed while it starts", 2, short, killWhileStarting},
		{"two nodes killed", 1, short, killMany(2)},
		{"all nodes killed", 1, short, killMany(3)},
		{"PostgreSQL restarted", 1, outage, restart(fast)},
		{"PostgreSQL crashed", 1, outage, restart(immediate)},
		{"postmaster killed", 1, outage, restart(shot)},
		{"node killed while PostgreSQL is away", 1, outage, killDuringOutage},
		{"connections cut", 2, outage, onLinks(1, true, cut)},
		{"all connections cut", 1, outage, onLinks(3, true, cut)},
		{"connections reset", 1, outage, onLinks(1, true, reset)},
		{"requests to PostgreSQL stalled", 1, stall, onLinks(1, false, holdRequests)},
		{"answers of PostgreSQL stalled", 1, stall, onLinks(1, false, holdAnswers)},
		{"PostgreSQL starved", 1, stall, onLinks(1, false, starve)},
		{"packets lost", 1, stall, onLinks(1, false, swallow)},
		{"all packets lost", 1, stall, onLinks(3, false, swallow)},
		{"network slow", 1, stall, onLinks(2, false, slow)},
		{"pool exhausted", 1, outage, crowd},
		{"connections used up", 1, outage, useUp},
		{"clock stepped", 3, stall, stepClock},
	}
}

// between picks a time from an interval.
func between(rng *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(rng.Int64N(int64(most-least)))
}

// some picks n nodes.
func (s *Scene) some(n int) []*cluster.Node {
	var picked []*cluster.Node
	for _, i := range s.Rand.Perm(len(s.Nodes))[:min(n, len(s.Nodes))] {
		picked = append(picked, s.Nodes[i])
	}
	return picked
}
