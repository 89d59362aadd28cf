package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Rig is a complete measurement: a Tasker, a load, and a meter of all processes.
type Rig struct {
	Options Options // with defaults; DB and Dispatch are this run's own
	Setting Setting // as given, for the report
	Tasker  *Tasker
	Load    *Load

	drop func() error
}

// Mount makes a Rig. On PostgreSQL a DSN without schema=NAME gets a temporary schema. Close the Rig; after an error
// nothing is left.
func Mount(ctx context.Context, opts Options) (*Rig, error) {
	opts = opts.withDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	r := &Rig{Setting: opts.setting()}
	own, drop, err := ownSchema(ctx, opts.DB)
	if err != nil {
		return nil, err
	}
	opts.DB, opts.Dispatch = own, OwnPrefix(opts.Dispatch)
	r.Options, r.drop = opts, drop
	if r.Tasker, err = Open(ctx, opts); err != nil {
		return nil, errors.Join(err, drop())
	}
	pids := r.Tasker.PIDs()
	if pid, ok := RedisHere(ctx, opts.Dispatch); ok {
		pids = append(pids, pid)
	}
	// It needs the servers' processes.
	meter, err := Watch(ctx, opts.DB, pids)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.Load = &Load{System: r.Tasker, Workers: opts.Workers, Producers: opts.Producers, PayloadBytes: opts.PayloadBytes,
		Meter: meter}
	return r, nil
}

// Check compares the observations with the promises, and returns the run's figures.
func (r *Rig) Check() (o Outcome, err error) {
	if o.Ledger, err = r.Tasker.check(); err != nil {
		return o, err
	}
	o.MaxRSSBytes, err = maxRSS(r.Tasker.PIDs())
	return o, err
}

// Close stops the Tasker and drops a temporary schema. Stop the workers first.
func (r *Rig) Close() error { return errors.Join(r.Tasker.Close(), r.drop()) }

// TempDatabase returns a new SQLite database below the working directory, and how to remove it. The system's
// temporary directory is often in memory, where durability is free.
func TempDatabase() (dsn string, remove func(), err error) {
	dir, err := os.MkdirTemp(".", ".tasker-bench-")
	if err != nil {
		return "", nil, fmt.Errorf("make directory of the database: %w", err)
	}
	return "sqlite:" + filepath.Join(dir, "bench.db"), func() { _ = os.RemoveAll(dir) }, nil
}
