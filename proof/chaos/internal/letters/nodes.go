package letters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/proof/crashtest/account"
	"github.com/taskerhq/tasker/remote"
)

type nodes struct {
	account.Nodes
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
		n.Servers = append(n.Servers, s)
		n.Backends = append(n.Backends, deadletters.Of(client))
		n.Trail = operate.Of(client)
	}
	return n, nil
}

func (n *nodes) close() error {
	var errs []error
	for _, s := range n.Servers {
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

func call(ctx context.Context, method, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(request)
}
