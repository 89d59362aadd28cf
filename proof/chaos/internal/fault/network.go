package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
)

func cut(l *cluster.Link, _ *rand.Rand) error {
	l.Cut()
	return nil
}
func reset(l *cluster.Link, _ *rand.Rand) error        { return l.Reset() }
func holdRequests(l *cluster.Link, _ *rand.Rand) error { return l.Hold(cluster.Up) }
func holdAnswers(l *cluster.Link, _ *rand.Rand) error  { return l.Hold(cluster.Down) }
func starve(l *cluster.Link, _ *rand.Rand) error       { return l.Starve(cluster.Up, cluster.Down) }
func swallow(l *cluster.Link, _ *rand.Rand) error      { return l.Swallow(cluster.Up, cluster.Down) }
func swallowBack(l *cluster.Link, _ *rand.Rand) error  { return l.Swallow(cluster.Down) }
func slow(l *cluster.Link, rng *rand.Rand) error       { return l.Slow(between(rng, 10*ms, 60*ms)) }

func onLinks(n int, blind bool,
	do func(*cluster.Link, *rand.Rand) error,
) func(context.Context, *Scene) (*Wound, error) {
	return onThe(func(node *cluster.Node) *cluster.Link { return node.Link }, n, blind, do)
}

func onCarriers(n int, do func(*cluster.Link, *rand.Rand) error) func(context.Context, *Scene) (*Wound, error) {
	return onThe(func(node *cluster.Node) *cluster.Link { return node.Carrier }, n, false, do)
}

func onThe(link func(*cluster.Node) *cluster.Link, n int, blind bool,
	do func(*cluster.Link, *rand.Rand) error,
) func(context.Context, *Scene) (*Wound, error) {
	return func(ctx context.Context, s *Scene) (*Wound, error) {
		w := &Wound{Nodes: s.some(n), Blind: blind}
		restore := func(ctx context.Context) error {
			var errs []error
			for _, node := range w.Nodes {
				errs = append(errs, link(node).Restore(ctx))
			}
			return errors.Join(errs...)
		}
		w.heal = func(ctx context.Context) (time.Time, error) {
			err := restore(ctx)
			return time.Now(), err
		}
		for i, node := range w.Nodes {
			if i > 0 {
				w.What += ", "
			}
			w.What += fmt.Sprintf("node %d", node.Index)
			if err := do(link(node), s.Rand); err != nil {
				return nil, errors.Join(err, restore(ctx))
			}
		}
		return w, nil
	}
}
