package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
)

// maxConnections is PostgreSQL's limit.
const maxConnections = 40

// pools are the nodes' pools of connections: the last one is always short.
var pools = []int{0, 8, 2}

// Cluster is the whole.
type Cluster struct {
	Postgres *pgtest.Server
	Standby  *pgtest.Server    // nil: there is none
	Redis    *redistest.Server // nil: steps are dispatched through PostgreSQL
	Nodes    []*Node
	Group    *process.Group
	Binary   string
	Spare    []string // unused addresses

	logs []*os.File
}

// Open builds the binary and starts PostgreSQL; an unsafe one loses the commits of a second or two when it crashes.
// With redis it starts one, for the dispatch. No node runs yet. Logs are written to dir, which the caller removes.
func Open(ctx context.Context, dir string, unsafe, redis bool) (*Cluster, error) {
	c := &Cluster{}
	if err := c.open(ctx, dir, unsafe, redis); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Cluster) open(ctx context.Context, dir string, unsafe, redis bool) (err error) {
	if c.Group, err = process.NewGroup(); err != nil {
		return err
	}
	module, err := process.Module(ctx)
	if err != nil {
		return err
	}
	steppable, err := overlay(ctx, dir, module)
	if err != nil {
		return err
	}
	if c.Binary, err = process.Build(ctx, dir, steppable); err != nil {
		return err
	}
	settings := []string{"max_connections=" + strconv.Itoa(maxConnections), "fsync=on", "log_min_messages=fatal"}
	if unsafe {
		settings = append(settings, "synchronous_commit=off", "wal_writer_delay=1s")
	}
	if c.Postgres, err = pgtest.Launch(settings...); err != nil {
		return err
	}
	if redis {
		// Its file lags up to a second behind, as in production.
		if c.Redis, err = redistest.Launch("appendonly=yes", "appendfsync=everysec"); err != nil {
			return err
		}
	}
	const spare = 2
	addresses, err := process.Addresses(3*len(pools) + spare)
	if err != nil {
		return err
	}
	c.Spare = addresses[:spare]
	addresses = addresses[spare:]
	for i, pool := range pools {
		if err := c.add(dir, pool, addresses[3*i:3*i+3]); err != nil {
			return err
		}
	}
	return nil
}

// add makes the next node, with separate links to PostgreSQL and to Redis.
func (c *Cluster) add(dir string, pool int, addresses []string) (err error) {
	own, link, carrier := addresses[0], addresses[1], addresses[2]
	n := &Node{Index: len(c.Nodes), Pool: pool, Server: &process.Server{
		Program: c.Binary, Address: own, Env: process.ShortLeases(), Group: c.Group}}
	n.clock = filepath.Join(dir, fmt.Sprintf("clock%d", n.Index))
	n.Env = append(n.Env, clockFile+"="+n.clock)
	if n.DSN, err = through(c.Postgres.DSN(), link, pool); err != nil {
		return err
	}
	if n.Log, err = c.Log(dir, fmt.Sprintf("node%d.log", n.Index)); err != nil {
		return err
	}
	if n.Link, err = NewLink(link, fmt.Sprintf("127.0.0.1:%d", c.Postgres.Port())); err != nil {
		return err
	}
	c.Nodes = append(c.Nodes, n)
	if c.Redis == nil {
		return nil
	}
	if n.Carrier, err = NewLink(carrier, fmt.Sprintf("127.0.0.1:%d", c.Redis.Port())); err != nil {
		return err
	}
	u, err := url.Parse(c.Redis.URL())
	if err != nil {
		return fmt.Errorf("read the URL of Redis: %w", err)
	}
	u.Host, u.RawQuery = carrier, "timeout=300ms"
	n.Env = append(n.Env, "TASKER_DISPATCH="+u.String())
	return nil
}

// through is a DSN of the same database at another address.
func through(dsn, address string, pool int) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("read the DSN of PostgreSQL: %w", err)
	}
	u.Host = address
	if pool > 0 {
		q := u.Query()
		q.Set("pool_max_conns", strconv.Itoa(pool))
		u.RawQuery = q.Encode()
	}
	return u.String(), nil
}

// Log makes a file for what a process says.
func (c *Cluster) Log(dir, name string) (*os.File, error) {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("make a log: %w", err)
	}
	c.logs = append(c.logs, f)
	return f, nil
}

// Logs are the paths of all logs.
func (c *Cluster) Logs() []string {
	names := make([]string, len(c.logs))
	for i, f := range c.logs {
		names[i] = f.Name()
	}
	return names
}

// Addresses are those of the nodes.
func (c *Cluster) Addresses() []string {
	all := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		all[i] = n.Address
	}
	return all
}

// Up starts all nodes at the same time, and returns when they listen.
func (c *Cluster) Up(ctx context.Context) error {
	var all errgroup.Group
	for _, n := range c.Nodes {
		all.Go(func() error { return n.Revive(ctx) })
	}
	return all.Wait()
}

// Crashes returns the unexpected ends of nodes.
func (c *Cluster) Crashes() []string {
	var all []string
	for _, n := range c.Nodes {
		all = append(all, n.Crashes()...)
	}
	return all
}

// Close ends everything.
func (c *Cluster) Close() error {
	for _, n := range c.Nodes {
		n.Kill()
	}
	if c.Group != nil {
		c.Group.Close()
	}
	for _, n := range c.Nodes {
		if n.Link != nil {
			n.Link.Close()
		}
		if n.Carrier != nil {
			n.Carrier.Close()
		}
	}
	for _, f := range c.logs {
		f.Close()
	}
	var errs []error
	if c.Redis != nil {
		errs = append(errs, c.Redis.Close())
	}
	if c.Standby != nil {
		errs = append(errs, c.Standby.Close())
	}
	if c.Postgres != nil {
		errs = append(errs, c.Postgres.Close())
	}
	return errors.Join(errs...)
}
