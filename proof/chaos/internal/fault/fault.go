// Package fault has the faults of a chaos run: nodes are killed, PostgreSQL stops, the network between them breaks,
// connections run out. A fault strikes, lasts, and is healed; others watch its effect on callers.
package fault

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
)

// Scene is where a fault strikes.
type Scene struct {
	*cluster.Cluster
	Balancer *cluster.Balancer
	Rand     *rand.Rand
	// Crowd starts n more callers on a node; disperse ends and awaits them.
	Crowd func(ctx context.Context, n int, node *cluster.Node) (disperse func() error)
}

// Fault is one kind of fault.
type Fault struct {
	Name   string
	weight int              // how often it is in a Round
	hold   [2]time.Duration // how long it lasts
	strike func(ctx context.Context, s *Scene) (*Wound, error)
}

// Wound is a fault at work.
type Wound struct {
	// What adds details to the fault's name.
	What string
	// Nodes are the affected ones.
	Nodes []*cluster.Node
	// Blind: the Nodes are up and cannot reach the database: they must refuse every new request until the wound is
	// healed.
	Blind bool
	// Kills counts killed nodes.
	Kills int

	heal func(ctx context.Context) (time.Time, error)
}

// Strike makes it happen, and returns how long it is to last.
func (f *Fault) Strike(ctx context.Context, s *Scene) (*Wound, time.Duration, error) {
	w, err := f.strike(ctx, s)
	return w, between(s.Rand, f.hold[0], f.hold[1]), err
}

// Heal ends the fault, and returns the time from which everything worked: PostgreSQL answers, connections are possible,
// the process of a node that came up was started.
func (w *Wound) Heal(ctx context.Context) (time.Time, error) { return w.heal(ctx) }

// Round returns every kind of fault, some several times, in random order; those of Redis only with it.
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

func between(rng *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(rng.Int64N(int64(most-least)))
}

func (s *Scene) some(n int) []*cluster.Node {
	var picked []*cluster.Node
	for _, i := range s.Rand.Perm(len(s.Nodes))[:min(n, len(s.Nodes))] {
		picked = append(picked, s.Nodes[i])
	}
	return picked
}
