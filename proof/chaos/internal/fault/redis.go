package fault

import (
	"context"
	"errors"
	"time"

	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

// Faults of Redis blind no node: the nodes continue with the database.
func ofRedis() []Fault {
	short, outage, stall := [2]time.Duration{0, 200 * ms}, [2]time.Duration{300 * ms, 1500 * ms},
		[2]time.Duration{500 * ms, 3000 * ms}
	return []Fault{
		{"Redis flushed", 3, short, flush},
		{"Redis killed", 2, outage, away((*redistest.Server).Kill)},
		{"Redis restarted", 1, outage, away((*redistest.Server).Stop)},
		{"Redis killed at once", 2, short, away((*redistest.Server).Kill)},
		{"node killed while Redis is away", 1, outage, killWithoutRedis},
		{"connections to Redis cut", 1, outage, onCarriers(1, cut)},
		{"all connections to Redis cut", 1, outage, onCarriers(3, cut)},
		{"connections to Redis reset", 1, outage, onCarriers(1, reset)},
		{"answers of Redis lost", 1, stall, onCarriers(1, swallowBack)},
		{"packets to Redis lost", 1, stall, onCarriers(3, swallow)},
	}
}

// flush deletes everything in Redis.
func flush(_ context.Context, s *Scene) (*Wound, error) {
	if err := s.Redis.Flush(); err != nil {
		return nil, err
	}
	return &Wound{Nodes: s.Nodes, heal: func(context.Context) (time.Time, error) { return time.Now(), nil }}, nil
}

// away ends Redis; healing restarts it, with its persisted content.
func away(end func(*redistest.Server) error) func(context.Context, *Scene) (*Wound, error) {
	return func(_ context.Context, s *Scene) (*Wound, error) {
		if err := end(s.Redis); err != nil {
			return nil, err
		}
		return &Wound{Nodes: s.Nodes, heal: func(context.Context) (time.Time, error) {
			err := s.Redis.Restart()
			return time.Now(), err
		}}, nil
	}
}

// killWithoutRedis kills a node that is its own queue: only the database and the workers have its leases.
func killWithoutRedis(_ context.Context, s *Scene) (*Wound, error) {
	if err := s.Redis.Kill(); err != nil {
		return nil, err
	}
	w := killed(s.some(1), "Redis killed")
	return &Wound{What: w.What, Nodes: s.Nodes, Kills: 1, heal: func(ctx context.Context) (time.Time, error) {
		healed, err := w.heal(ctx)
		return healed, errors.Join(err, s.Redis.Restart())
	}}, nil
}
