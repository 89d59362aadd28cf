package engine

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Register registers a worker and returns it with its ID. Invalid: every problem with its
// field. It is not idempotent: each call stores a worker.
func (e *Engine) Register(ctx context.Context, w task.Worker) (*task.Worker, error) {
	var problems []task.Problem
	for at, list := range map[string][]string{"/namespaces": w.Namespaces, "/handlers": w.Handlers,
		"/capabilities": w.Capabilities} {
		for _, s := range list {
			if fault := task.TextFault(s, maxName); fault != "" {
				problems = append(problems, task.Problem{Location: at, Message: "an entry " + fault})
			} else if s == "" {
				problems = append(problems, task.Problem{Location: at, Message: "an entry is empty"})
			}
		}
	}
	if n := servedBytes(&w); n > maxServed && len(problems) == 0 {
		problems = append(problems, task.Problem{Location: "/handlers",
			Message: fmt.Sprintf("namespaces, handlers and capabilities have %d bytes together; the limit is %d", n, maxServed)})
	}
	for at, s := range map[string]string{"/name": w.Name, "/host": w.Host, "/version": w.Version} {
		if fault := task.TextFault(s, maxName); fault != "" {
			problems = append(problems, task.Problem{Location: at, Message: fault})
		}
	}
	if fault := healthURLFault(w.HealthURL); fault != "" {
		problems = append(problems, task.Problem{Location: "/health_url", Message: fault})
	}
	if fault := e.transportFault(w.Transport); fault != "" {
		problems = append(problems, task.Problem{Location: "/transport", Message: fault})
	}
	if len(problems) > 0 {
		return nil, check.Refusal("the worker was not registered", problems)
	}
	w.Capacity = max(w.Capacity, 0)
	if w.Transport == task.TransportAMQP { // what is sent to a queue without a bound would be assigned to one worker
		w.Capacity = cmp.Or(w.Capacity, e.cfg.Delivery.Capacity)
	}
	w.Capabilities = task.Capabilities(w.Capabilities)
	w.State = task.WorkerActive
	w.Name = cmp.Or(w.Name, w.Host, "unnamed")
	if err := e.admitWorker(ctx, &w); err != nil {
		return nil, err
	}
	var stored *task.Worker
	err := e.transact(ctx, func(ctx context.Context, tx Tx) error {
		fresh := w
		now := e.instant()
		fresh.No, fresh.ID = 0, e.store.IDs().Take(now.Time(), 1)
		fresh.StartedAt, fresh.LastHeartbeat = now, now
		fresh.ProbeFailures, fresh.ProbeError, fresh.BrokenAt = 0, "", 0
		fresh.CordonedAt, fresh.CordonedBy, fresh.CordonReason = 0, "", ""
		fresh.DrainedAt, fresh.DrainedBy, fresh.DrainReason = 0, "", ""
		stored = &fresh
		return tx.SaveWorker(ctx, stored)
	})
	if err != nil {
		return nil, err
	}
	e.pools.stale.Store(true)
	return stored, nil
}

// healthURLFault describes the error in the URL of a worker's health check, or returns "". The address of its host is
// checked when the request is made.
func healthURLFault(text string) string {
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	switch {
	case len(text) > maxHealthURL:
		return "must not be longer than " + strconv.Itoa(maxHealthURL) + " bytes"
	case err != nil || u.Host == "" || u.Hostname() == "":
		return "must be a URL with a host, such as http://10.0.0.7:8090"
	case u.Scheme != "http" && u.Scheme != "https":
		return "must be http or https"
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "must be without user, query and fragment"
	}
	return ""
}

// maxHealthURL bounds the URL of a health check, in bytes.
const maxHealthURL = 1024

// Worker returns a worker, or the error that asks it to register. The result is shared and must not be changed.
func (e *Engine) Worker(ctx context.Context, id task.ID) (*task.Worker, error) {
	trust := workerTrust
	if e.cluster == nil {
		trust = forEver // no other process changes it
	}
	if w := e.workers.get(id, e.instant(), trust); w != nil {
		return w, nil
	}
	now, before := e.instant(), e.workers.version(id)
	w, err := e.store.FindWorker(ctx, id)
	if err != nil {
		return nil, err
	}
	if w == nil {
		return nil, noWorker(id)
	}
	if e.workers.read(w, now, before) {
		e.breakers.note(w, now)
	}
	return w, nil
}

// noWorker is the NotFound error by which a worker learns that it must register again.
func noWorker(id task.ID) error {
	return &task.Error{Code: task.NotFound, Message: "there is no worker " + id.String(),
		Hint: "register the worker again and go on under its new id"}
}

// noteSeen records a sign of life when a poll comes from a worker whose last one is old: a worker that only polls is
// alive too.
func (e *Engine) noteSeen(ctx context.Context, w *task.Worker) (*task.Worker, error) {
	if w.State != task.WorkerDead && e.instant().Sub(w.LastHeartbeat) < e.cfg.Leases.HeartbeatInterval {
		return w, nil
	}
	return e.change(ctx, w, func(w *task.Worker, now task.Instant) error {
		w.Heard(now, false)
		return nil
	})
}

// Workers returns those that are not dead, and the dead ones seen within a time.
func (e *Engine) Workers(ctx context.Context, within time.Duration) ([]*task.Worker, error) {
	return e.store.Workers(ctx, e.instant().Add(-within))
}

// Beat is a worker's heartbeat.
type Beat struct {
	Worker   task.ID
	Load     int
	Draining bool
	// Leases to renew; nil renews all that the worker holds.
	Leases []LeaseRef
}

// Heartbeat records that a worker is alive, renews its leases and answers each. It also reports
// whether the worker must drain. A worker that was marked dead is active again; its lost leases
// stay lost. TooLarge: more than maxHeld leases. NotFound: the worker is unknown.
func (e *Engine) Heartbeat(ctx context.Context, b Beat) ([]LeaseAnswer, bool, error) {
	if n := len(b.Leases); n > maxHeld {
		return nil, false, task.Errorf(task.TooLarge, "%d leases in one heartbeat; the limit is %d", n, maxHeld)
	}
	w, err := e.ReachedWorker(ctx, b.Worker)
	if err != nil {
		return nil, false, err
	}
	w, err = e.change(ctx, w, func(w *task.Worker, now task.Instant) error {
		w.Heard(now, b.Draining)
		w.Load = b.Load
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	answers, err := e.renew(ctx, w.No, b.Leases)
	return answers, w.State == task.WorkerDraining, err
}

// workerCache caches recently seen workers, so that a poll need not read its worker from the store. An entry is valid
// for some seconds: another process may have changed the worker meanwhile, and the report of the change may be lost.
//
// Changes of a row need not arrive in the order in which they were made. Each change takes a number while it has the
// row locked, and the highest number wins. A row that was only read is older than any change made since.
type workerCache struct {
	versions atomic.Int64

	mu    sync.Mutex
	byID  map[task.ID]cachedWorker
	names map[int64]string // by number; they never change
}

// cachedWorker is a row, the time at which it was read, and the number of the change that it
// comes from.
type cachedWorker struct {
	worker  *task.Worker
	read    task.Instant
	version int64
}

// nextVersion returns the number of a change. The caller has the row locked.
func (c *workerCache) nextVersion() int64 { return c.versions.Add(1) }

// version returns the number of the change that a cached worker comes from; 0 for none.
func (c *workerCache) version(id task.ID) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byID[id].version
}

const (
	// How long an entry is valid: a few seconds where other processes may change the worker,
	// without end where none can.
	workerTrust = 5 * time.Second
	forEver     = time.Duration(math.MaxInt64)
)

// maxCachedWorkers bounds the cache; above it, it is emptied.
const maxCachedWorkers = 50_000

// get returns a cached worker that was read within trust, or nil.
func (c *workerCache) get(id task.ID, now task.Instant, trust time.Duration) *task.Worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byID[id]
	if !ok || now.Sub(e.read) > trust {
		return nil
	}
	return e.worker
}

// read caches a worker that was read from the store, unless its entry has been replaced since: before is the version
// from before the read. It reports whether the worker was cached.
func (c *workerCache) read(w *task.Worker, now task.Instant, before int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[w.ID].version != before {
		return false
	}
	c.keep(w, now, before)
	return true
}

// put caches a worker as a change left it, and returns the previous entry, nil for none. version is the number of
// the change. It reports false, and caches nothing, when a newer change is cached.
func (c *workerCache) put(w *task.Worker, now task.Instant, version int64) (before *task.Worker, newest bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.byID[w.ID]
	if known.version > version {
		return known.worker, false
	}
	c.keep(w, now, version)
	return known.worker, true
}

// keep stores an entry. The caller holds mu.
func (c *workerCache) keep(w *task.Worker, now task.Instant, version int64) {
	if c.byID == nil || len(c.byID) >= maxCachedWorkers {
		c.byID = map[task.ID]cachedWorker{}
	}
	c.byID[w.ID] = cachedWorker{w, now, version}
	c.keepName(w.No, w.Name)
}

// keepName stores the name of a worker. The caller holds mu.
func (c *workerCache) keepName(no int64, name string) {
	if c.names == nil || len(c.names) >= maxCachedWorkers {
		c.names = map[int64]string{}
	}
	c.names[no] = name
}

// workerName returns the name of a worker, or its number as a text if it is forgotten; "" for none. It reads the store
// once for a worker that has spoken to other processes only.
func (u *unit) workerName(no int64) string {
	if no == 0 {
		return ""
	}
	c := &u.e.workers
	c.mu.Lock()
	name, known := c.names[no]
	c.mu.Unlock()
	if known {
		return name
	}
	// an error fails the transaction by itself, or costs a name
	if name, err := u.e.evidences.WorkerName(u.ctx, u.tx, no); err == nil && name != "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.keepName(no, name)
		return name
	}
	return "number " + strconv.FormatInt(no, 10)
}

// drop removes workers that another process has changed.
func (c *workerCache) drop(workers map[int64]struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, e := range c.byID {
		if _, named := workers[e.worker.No]; named {
			delete(c.byID, id)
		}
	}
}

// release gives back all steps that a worker holds, and returns their number.
func (e *Engine) release(ctx context.Context, worker int64) (int, error) {
	there, err := e.queue.heldBy(ctx, worker)
	if err != nil {
		return 0, err
	}
	var released int
	err = e.write(ctx, "drain", func(u *unit) error {
		works, err := u.tx.Held(u.ctx, worker, maxHeld)
		if err != nil {
			return err
		}
		works = u.rows.intern(works)
		dispatched, err := u.rows.load(there)
		if err != nil {
			return err
		}
		known := make(map[*task.Step]bool, len(works))
		for _, w := range works {
			known[w.Step] = true
		}
		for _, w := range dispatched { // one that has just been stored may be in both places
			if w.Step != nil && w.Step.State.Leased() && w.Step.WorkerNo == worker && !known[w.Step] {
				works = append(works, w)
			}
		}
		released = len(works)
		for _, held := range works {
			if err := u.uncharged(held, task.Released, 0); err != nil {
				return err
			}
		}
		return nil
	})
	return released, err
}
