package fault

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
)

// killAtMoment kills the first node that comes to a chosen moment, or any node at any time.
func killAtMoment(ctx context.Context, s *Scene) (*Wound, error) {
	if s.Rand.IntN(4) == 0 {
		n := s.some(1)
		return killed(n, "at any time"), nil
	}
	sprung := make(chan int, 1)
	moment := s.Balancer.Trap(s.Rand, func(node int) {
		s.Nodes[node].Kill()
		sprung <- node
	})
	patience := time.NewTimer(2 * time.Second)
	defer patience.Stop()
	select {
	case node := <-sprung:
		return killed(s.Nodes[node:node+1], moment.String()), nil
	case <-ctx.Done():
		s.Balancer.Disarm()
		return nil, ctx.Err()
	case <-patience.C:
	}
	if !s.Balancer.Disarm() {
		node := <-sprung // it springs in this instant
		return killed(s.Nodes[node:node+1], moment.String()), nil
	}
	return killed(s.some(1), "at any time"), nil
}

// killMany kills nodes simultaneously.
func killMany(n int) func(context.Context, *Scene) (*Wound, error) {
	return func(_ context.Context, s *Scene) (*Wound, error) { return killed(s.some(n), "at any time"), nil }
}

// killWhileStarting kills a node, and its restarts.
func killWhileStarting(ctx context.Context, s *Scene) (*Wound, error) {
	w := killed(s.some(1), "and again while it started")
	for range 1 + s.Rand.IntN(2) {
		w.Nodes[0].Gone()
		if err := w.Nodes[0].Launch(); err != nil {
			return nil, err
		}
		if err := clock.Sleep(ctx, between(s.Rand, 0, 80*ms)); err != nil {
			return nil, err
		}
		w.Nodes[0].Kill()
		w.Kills++
	}
	return w, nil
}

// killed kills nodes; healing restarts them.
func killed(nodes []*cluster.Node, what string) *Wound {
	for _, n := range nodes {
		n.Kill()
		what += fmt.Sprintf(", node %d", n.Index)
	}
	return &Wound{What: what, Nodes: nodes, Kills: len(nodes), heal: func(ctx context.Context) (time.Time, error) {
		for _, n := range nodes {
			n.Gone()
		}
		begun := time.Now()
		return begun, revive(ctx, nodes)
	}}
}

func revive(ctx context.Context, nodes []*cluster.Node) error {
	var all errgroup.Group
	for _, n := range nodes {
		all.Go(func() error { return n.Revive(ctx) })
	}
	return all.Wait()
}
