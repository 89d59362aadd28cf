package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/process"
)

// Replication is the kind of standby.
type Replication int

// The kinds of replication.
const (
	Alone Replication = iota // nothing
	Async                    // a standby that may be behind
	Sync                     // a standby that has whatever was acknowledged
)

// OpenPair starts a PostgreSQL, perhaps with a standby, and makes nodes with both hosts. No node runs yet. The binary
// is from Build.
func OpenPair(dir, binary string, how Replication) (*Cluster, error) {
	c := &Cluster{Binary: binary}
	if err := c.openPair(dir, how); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Build makes the binary in dir.
func Build(ctx context.Context, dir string) (string, error) { return process.Build(ctx, dir) }

func (c *Cluster) openPair(dir string, how Replication) (err error) {
	if c.Group, err = process.NewGroup(); err != nil {
		return err
	}
	// To other processes, a killed process's writes are on the disk.
	settings := []string{"max_connections=60", "fsync=off", "wal_keep_size=512MB", "log_min_messages=fatal"}
	if c.Postgres, err = pgtest.Launch(settings...); err != nil {
		return err
	}
	if how != Alone {
		if c.Standby, err = c.Postgres.LaunchStandby(settings...); err != nil {
			return err
		}
	}
	if how == Sync {
		err = errors.Join(c.Postgres.Execute("ALTER SYSTEM SET synchronous_standby_names = 'standby'"),
			c.Postgres.Execute("SELECT pg_reload_conf()"))
		if err != nil {
			return err
		}
	}
	dsn, err := c.hosts()
	if err != nil {
		return err
	}
	addresses, err := process.Addresses(len(pools))
	if err != nil {
		return err
	}
	for i, address := range addresses {
		n := &Node{Index: i, Server: &process.Server{Program: c.Binary, Address: address, Env: process.ShortLeases(),
			Group: c.Group, DSN: dsn}}
		if n.Log, err = c.Log(dir, fmt.Sprintf("node%d.log", i)); err != nil {
			return err
		}
		c.Nodes = append(c.Nodes, n)
	}
	return nil
}

// hosts is a DSN of the primary and of the standby, if any.
func (c *Cluster) hosts() (string, error) {
	u, err := url.Parse(c.Postgres.DSN())
	if err != nil {
		return "", fmt.Errorf("read the DSN of PostgreSQL: %w", err)
	}
	if c.Standby != nil {
		u.Host = fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d", c.Postgres.Port(), c.Standby.Port())
	}
	return u.String(), nil
}
