package fault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
)

func fast(p *pgtest.Server) error      { return p.Stop(pgtest.Fast) }
func immediate(p *pgtest.Server) error { return p.Stop(pgtest.Immediate) }
func shot(p *pgtest.Server) error      { return p.Kill() }

// restart ends PostgreSQL; healing starts it again.
func restart(end func(*pgtest.Server) error) func(context.Context, *Scene) (*Wound, error) {
	return func(_ context.Context, s *Scene) (*Wound, error) {
		if err := end(s.Postgres); err != nil {
			return nil, err
		}
		return &Wound{Nodes: s.Nodes, Blind: true, heal: func(context.Context) (time.Time, error) {
			err := s.Postgres.Restart()
			return time.Now(), err
		}}, nil
	}
}

// killDuringOutage kills a node while PostgreSQL is away, and restarts it before PostgreSQL.
func killDuringOutage(_ context.Context, s *Scene) (*Wound, error) {
	if err := s.Postgres.Stop(pgtest.Immediate); err != nil {
		return nil, err
	}
	dead := s.some(1)
	w := killed(dead, "PostgreSQL stopped")
	return &Wound{What: w.What, Nodes: s.Nodes, Kills: 1, heal: func(ctx context.Context) (time.Time, error) {
		revived := make(chan error, 1)
		go func() {
			_, err := w.heal(ctx)
			revived <- err
		}()
		err := s.Postgres.Restart()
		healed := time.Now()
		return healed, errors.Join(err, <-revived)
	}}, nil
}

// crowd sends many callers to the node with the smallest pool.
func crowd(ctx context.Context, s *Scene) (*Wound, error) {
	node := s.Nodes[0]
	for _, n := range s.Nodes {
		if n.Pool > 0 && (node.Pool == 0 || n.Pool < node.Pool) {
			node = n
		}
	}
	disperse := s.Crowd(ctx, 150, node)
	return &Wound{What: fmt.Sprintf("150 callers, %d connections", node.Pool), Nodes: []*cluster.Node{node},
		heal: func(context.Context) (time.Time, error) {
			err := disperse()
			return time.Now(), err
		}}, nil
}

// useUp takes all of PostgreSQL's connections, including those of one node.
func useUp(ctx context.Context, s *Scene) (*Wound, error) {
	node := s.some(1)[0]
	var taken []*pgx.Conn
	free := func(ctx context.Context) error {
		var errs []error
		for _, c := range taken {
			errs = append(errs, c.Close(ctx))
		}
		return errors.Join(append(errs, node.Link.Restore(ctx))...)
	}
	node.Link.Cut()
	// A refused connection may be free soon: the node's are closing.
	for refused := 0; refused < 5; {
		c, err := pgx.Connect(ctx, s.Postgres.DSN())
		var no *pgconn.PgError
		switch {
		case err == nil:
			taken = append(taken, c)
			refused = 0
			continue
		case errors.As(err, &no) && no.Code == "53300":
			refused++
		default:
			return nil, errors.Join(fmt.Errorf("use up connections: %w", err), free(ctx))
		}
		if err := clock.Sleep(ctx, 20*ms); err != nil {
			return nil, errors.Join(err, free(context.WithoutCancel(ctx)))
		}
	}
	if err := node.Link.Restore(ctx); err != nil {
		return nil, errors.Join(err, free(ctx))
	}
	return &Wound{What: fmt.Sprintf("%d by others, node %d has none", len(taken), node.Index),
		Nodes: []*cluster.Node{node}, Blind: true,
		heal: func(ctx context.Context) (time.Time, error) {
			err := free(ctx)
			return time.Now(), err
		}}, nil
}
