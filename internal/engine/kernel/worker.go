package kernel

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

// Register stores a new worker with each call and returns it with its ID. Invalid: every problem with its field.
func (e *Kernel) Register(ctx context.Context, w task.Worker) (*task.Worker, error) {
	var problems []task.Problem
	for at, list := range map[string][]string{"/namespaces": w.Namespaces, "/handlers": w.Handlers,
		"/capabilities": w.Capabilities} {
		for _, s := range list {
			if fault := task.TextFault(s, MaxName); fault != "" {
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
		if fault := task.TextFault(s, MaxName); fault != "" {
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
	if w.Transport == task.TransportAMQP { // one worker would get everything in an unbounded queue
		w.Capacity = cmp.Or(w.Capacity, e.Cfg.Delivery.Capacity)
	}
	w.Capabilities = task.Capabilities(w.Capabilities)
	w.State = task.WorkerActive
	w.Name = cmp.Or(w.Name, w.Host, "unnamed")
	if err := e.admitWorker(ctx, &w); err != nil {
		return nil, err
	}
	var stored *task.Worker
	err := e.Transact(ctx, func(ctx context.Context, tx Tx) error {
		fresh := w
		now := e.Now()
		fresh.No, fresh.ID = 0, e.Store.IDs().Take(now.Time(), 1)
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

// healthURLFault returns "" for a valid URL. The host's address is checked at the request.
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

// In bytes.
const maxHealthURL = 1024

// Worker returns a worker, or the error that asks it to register. The caller must not change it.
func (e *Kernel) Worker(ctx context.Context, id task.ID) (*task.Worker, error) {
	trust := workerTrust
	if e.Cluster == nil {
		trust = forEver // no other process changes it
	}
	if w := e.workers.get(id, e.Now(), trust); w != nil {
		return w, nil
	}
	now, before := e.Now(), e.workers.version(id)
	w, err := e.Store.FindWorker(ctx, id)
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

// noWorker makes a worker register again.
func noWorker(id task.ID) error {
	return &task.Error{Code: task.NotFound, Message: "there is no worker " + id.String(),
		Hint: "register the worker again and go on under its new id"}
}

// noteSeen records a poll as a sign of life if the last one is old.
func (e *Kernel) noteSeen(ctx context.Context, w *task.Worker) (*task.Worker, error) {
	if w.State != task.WorkerDead && e.Now().Sub(w.LastHeartbeat) < e.Cfg.Leases.HeartbeatInterval {
		return w, nil
	}
	return e.change(ctx, w, func(w *task.Worker, now task.Instant) error {
		w.Heard(now, false)
		return nil
	})
}

// Workers returns those that are not dead, and the dead ones seen within a time.
func (e *Kernel) Workers(ctx context.Context, within time.Duration) ([]*task.Worker, error) {
	return e.Store.Workers(ctx, e.Now().Add(-within))
}

// Beat is a worker's heartbeat.
type Beat struct {
	Worker   task.ID
	Load     int
	Draining bool
	// nil renews all leases of the worker.
	Leases []LeaseRef
}

// Heartbeat renews a worker's leases and answers each, and reports whether the worker must drain. A dead worker
// becomes active; its lost leases stay lost. TooLarge: more than maxHeld leases. NotFound: the worker is unknown.
func (e *Kernel) Heartbeat(ctx context.Context, b Beat) ([]LeaseAnswer, bool, error) {
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

// workerCache caches workers for polls. An entry is valid for some seconds: another process may have changed the
// worker, and its event may be lost.
//
// Changes may arrive out of order. Each takes a number under the row's lock, and the highest wins. A row only read is
// older than any change since.
type workerCache struct {
	versions atomic.Int64

	mu    sync.Mutex
	byID  map[task.ID]cachedWorker
	names map[int64]string // by number; immutable
}

// cachedWorker has the number of its last change.
type cachedWorker struct {
	worker  *task.Worker
	read    task.Instant
	version int64
}

// The caller has the row locked.
func (c *workerCache) nextVersion() int64 { return c.versions.Add(1) }

func (c *workerCache) version(id task.ID) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byID[id].version
}

const (
	// A few seconds where other processes may change workers, else without end.
	workerTrust = 5 * time.Second
	forEver     = time.Duration(math.MaxInt64)
)

// At maxCachedWorkers the cache is emptied.
const maxCachedWorkers = 50_000

func (c *workerCache) get(id task.ID, now task.Instant, trust time.Duration) *task.Worker {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byID[id]
	if !ok || now.Sub(e.read) > trust {
		return nil
	}
	return e.worker
}

// read does nothing and reports false if the entry was replaced since version before.
func (c *workerCache) read(w *task.Worker, now task.Instant, before int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID[w.ID].version != before {
		return false
	}
	c.keep(w, now, before)
	return true
}

// put returns the previous entry. It reports false, and caches nothing, if a newer change is cached.
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

func (c *workerCache) keep(w *task.Worker, now task.Instant, version int64) {
	if c.byID == nil || len(c.byID) >= maxCachedWorkers {
		c.byID = map[task.ID]cachedWorker{}
	}
	c.byID[w.ID] = cachedWorker{w, now, version}
	c.keepName(w.No, w.Name)
}

// The caller holds mu.
func (c *workerCache) keepName(no int64, name string) {
	if c.names == nil || len(c.names) >= maxCachedWorkers {
		c.names = map[int64]string{}
	}
	c.names[no] = name
}

// WorkerName returns a forgotten worker's number; "" for none. It reads the store once for other processes' workers.
func (u *Unit) WorkerName(no int64) string {
	if no == 0 {
		return ""
	}
	c := &u.E.workers
	c.mu.Lock()
	name, known := c.names[no]
	c.mu.Unlock()
	if known {
		return name
	}
	// an error fails the transaction anyway, or costs a name
	if name, err := u.E.Evidences.WorkerName(u.Ctx, u.Tx, no); err == nil && name != "" {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.keepName(no, name)
		return name
	}
	return "number " + strconv.FormatInt(no, 10)
}

func (c *workerCache) drop(workers map[int64]struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, e := range c.byID {
		if _, named := workers[e.worker.No]; named {
			delete(c.byID, id)
		}
	}
}

func (e *Kernel) release(ctx context.Context, worker int64) (int, error) {
	there, err := e.Queue.heldBy(ctx, worker)
	if err != nil {
		return 0, err
	}
	var released int
	err = e.Write(ctx, "drain", func(u *Unit) error {
		works, err := u.Tx.Held(u.Ctx, worker, maxHeld)
		if err != nil {
			return err
		}
		works = u.Rows.intern(works)
		dispatched, err := u.Rows.Load(there)
		if err != nil {
			return err
		}
		known := make(map[*task.Step]bool, len(works))
		for _, w := range works {
			known[w.Step] = true
		}
		for _, w := range dispatched { // just stored: may be in both places
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
