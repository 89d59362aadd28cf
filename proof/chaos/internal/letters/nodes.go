package letters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/remote"
)

type nodes struct {
	servers  []*process.Server
	backends []deadletters.Backend
	trails   []operate.Backend
	postgres *pgtest.Server
	logs     []*os.File
	closers  []func() error
}

func openNodes(o *Options, sc scenario, dir string, group *process.Group, env ...string) (*nodes, error) {
	n := &nodes{}
	dsn, count := "sqlite:"+filepath.Join(dir, "tasker.db"), 1
	if sc.postgres {
		server, err := pgtest.Launch("max_connections=60")
		if err != nil {
			return n, err
		}
		n.postgres, dsn, count = server, server.DSN(), 2
	}
	addresses, err := process.Addresses(count)
	if err != nil {
		return n, err
	}
	for i, address := range addresses {
		log, err := os.Create(filepath.Join(dir, fmt.Sprintf("node%d.log", i)))
		if err != nil {
			return n, err
		}
		n.logs = append(n.logs, log)
		s := &process.Server{Program: o.Node, DSN: dsn, Address: address, Log: log, Group: group,
			Env: append(process.ShortLeases(), env...)}
		client, err := remote.Dial(s.URL(), &remote.Options{RequestTimeout: 10 * time.Second})
		if err != nil {
			return n, err
		}
		n.closers = append(n.closers, client.Close)
		n.servers = append(n.servers, s)
		n.backends = append(n.backends, deadletters.Of(client))
		n.trails = append(n.trails, operate.Of(client))
	}
	return n, nil
}

func (n *nodes) close() error {
	var errs []error
	for _, s := range n.servers {
		s.Kill()
		s.Gone()
	}
	for _, c := range n.closers {
		errs = append(errs, c())
	}
	if n.postgres != nil {
		errs = append(errs, n.postgres.Close())
	}
	for _, f := range n.logs {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// ask calls one node after the other until one has answered. A refusal is an answer.
func ask[T any](ctx context.Context, n *nodes, fn func(deadletters.Backend) (T, error)) (T, error) {
	for i := 0; ; i++ {
		got, err := fn(n.backends[i%len(n.backends)])
		if err == nil {
			return got, nil
		}
		switch tasker.ErrorCode(err) {
		case tasker.CodeUnavailable, tasker.CodeInternal, "":
		default:
			return got, err
		}
		if clock.Sleep(ctx, 20*time.Millisecond) != nil {
			return got, fmt.Errorf("%w; the last answer: %w", ctx.Err(), err)
		}
	}
}

func pages[T any](ctx context.Context, n *nodes,
	list func(deadletters.Backend, string) ([]T, string, error),
) ([]T, error) {
	type page struct {
		rows []T
		next string
	}
	var all []T
	for cursor := ""; ; {
		p, err := ask(ctx, n, func(b deadletters.Backend) (page, error) {
			rows, next, err := list(b, cursor)
			return page{rows, next}, err
		})
		all = append(all, p.rows...)
		if cursor = p.next; err != nil || cursor == "" {
			return all, err
		}
	}
}

func (n *nodes) letters(ctx context.Context, source string) ([]deadletters.Letter, error) {
	return pages(ctx, n, func(b deadletters.Backend, cursor string) ([]deadletters.Letter, string, error) {
		p, err := b.Letters(ctx, deadletters.LetterFilter{Limit: 1000, Cursor: cursor,
			Selection: deadletters.Selection{Namespace: "default", Source: source}})
		if err != nil {
			return nil, "", err
		}
		return p.Letters, p.NextCursor, nil
	})
}

func (n *nodes) redrives(ctx context.Context) ([]deadletters.Redrive, error) {
	return pages(ctx, n, func(b deadletters.Backend, cursor string) ([]deadletters.Redrive, string, error) {
		p, err := b.Redrives(ctx, deadletters.RedriveFilter{Limit: 1000, Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return p.Redrives, p.NextCursor, nil
	})
}

func (n *nodes) items(ctx context.Context, of *deadletters.Redrive) ([]deadletters.Item, error) {
	return pages(ctx, n, func(b deadletters.Backend, cursor string) ([]deadletters.Item, string, error) {
		p, err := b.RedriveItems(ctx, of.RedriveUUID, deadletters.ItemFilter{Limit: 1000, Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return p.Items, p.NextCursor, nil
	})
}

func call(ctx context.Context, method, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(request)
}
