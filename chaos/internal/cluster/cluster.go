package cluster

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker/internal/crashtest/process"
	"github.com/taskerhq/tasker/internal/pgtest"
)

// MaxConnections is how many connections PostgreSQL accepts.
const MaxConnections = 40

// pools are the connections that the nodes may have: the last one is always
// short of them.
var pools = []int{0, 8, 2}

// Cluster is the whole.
type Cluster struct {
	Postgres *pgtest.Server
	Nodes    []*Node
	Group    *process.Group
	Binary   string
	Spare    []string // addresses that nobody uses

	logs []*os.File
}

// Open builds the binary and starts PostgreSQL. No node runs yet. Logs are
// written to dir, which the caller removes.
func Open(ctx context.Context, dir string) (c *Cluster, err error) {
	c = &Cluster{}
	defer func() {
		if err != nil {
			_ = c.Close() // why it cannot be used is the news
		}
	}()
	if c.Group, err = process.NewGroup(); err != nil {
		return nil, err
	}
	if c.Binary, err = process.Build(ctx, dir); err != nil {
		return nil, err
	}
	// A crash must cost nothing that was committed, so fsync stays on.
	if c.Postgres, err = pgtest.Launch("max_connections="+strconv.Itoa(MaxConnections), "fsync=on", "log_min_messages=fatal"); err != nil {
		return nil, err
	}
	const spare = 2
	addresses, err := process.Addresses(2*len(pools) + spare)
	if err != nil {
		return nil, err
	}
	c.Spare = addresses[:spare]
	addresses = addresses[spare:]
	for i, pool := range pools {
		link, err := NewLink(addresses[2*i], fmt.Sprintf("127.0.0.1:%d", c.Postgres.Port()))
		if err != nil {
			return nil, err
		}
		n := &Node{Index: i, Link: link, Pool: pool, Server: &process.Server{
			Program: c.Binary, Address: addresses[2*i+1], Env: process.ShortLeases(), Group: c.Group}}
		c.Nodes = append(c.Nodes, n)
		if n.DSN, err = through(c.Postgres.DSN(), link.Address(), pool); err != nil {
			return nil, err
		}
		if n.Log, err = c.Log(dir, fmt.Sprintf("node%d.log", i)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// through is a DSN with another way to the same database.
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

// Up starts all nodes at the same time, and returns when they listen.
func (c *Cluster) Up(ctx context.Context) error {
	var all errgroup.Group
	for _, n := range c.Nodes {
		all.Go(func() error { return n.Revive(ctx) })
	}
	return all.Wait()
}

// Crashes returns the ends of nodes that nobody had asked for.
func (c *Cluster) Crashes() []string {
	var all []string
	for _, n := range c.Nodes {
		all = append(all, n.Crashes()...)
	}
	return all
}

// Close ends everything.
func (c *Cluster) Close() error {
	if c.Group != nil {
		c.Group.Close()
	}
	for _, n := range c.Nodes {
		n.Link.Close()
	}
	for _, f := range c.logs {
		f.Close()
	}
	if c.Postgres == nil {
		return nil
	}
	return c.Postgres.Close()
}
