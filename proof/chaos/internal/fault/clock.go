package fault

import (
	"context"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
)

// stepClock steps the wall clock of one node by up to two hours; healing resets it.
func stepClock(_ context.Context, s *Scene) (*Wound, error) {
	node, by := s.some(1)[0], between(s.Rand, -2*time.Hour, 2*time.Hour).Round(time.Second)
	if err := node.StepClock(by); err != nil {
		return nil, err
	}
	return &Wound{What: fmt.Sprintf("node %d by %s", node.Index, by), Nodes: []*cluster.Node{node},
		heal: func(context.Context) (time.Time, error) {
			err := node.StepClock(0)
			return time.Now(), err
		}}, nil
}
