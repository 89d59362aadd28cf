package letters

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/testkit/redistest"
	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
)

// victim is a process that can be killed.
type victim interface {
	Kill()
	Gone()
	Start(ctx context.Context) error
	Freeze()
	Thaw()
}

func (r *run) victims() []victim {
	var all []victim
	if r.crowd != nil {
		for _, a := range r.crowd.apps {
			all = append(all, a)
		}
		return all
	}
	for _, s := range r.nodes.Servers {
		all = append(all, s)
	}
	if r.fleet != nil {
		for _, a := range r.fleet.programs {
			all = append(all, a)
		}
	}
	return all
}

// strikes strikes until there were enough kills, with before in between.
func (r *run) strikes(ctx context.Context, before func()) error {
	for n := 0; r.killed() < r.options.Kills; n++ {
		before()
		do := r.strike(n)
		if err := do(ctx); err != nil {
			return fmt.Errorf("fault %d: %w", n, err)
		}
		if err := clock.Sleep(ctx, r.between(0, 400)); err != nil {
			return err
		}
	}
	return nil
}

// strike chooses the next fault. Every second one is a FLUSHALL or a failover, where possible.
func (r *run) strike(n int) func(context.Context) error {
	switch {
	case r.flush && n%2 == 0:
		return r.flushAll
	case r.failover && n%2 == 0:
		return r.replace
	}
	switch c := r.rng.IntN(10); {
	case r.brokers.rabbit != nil && c == 9:
		return []func(context.Context) error{r.freezeOne, r.freezeBroker, r.raiseAlarm}[r.rng.IntN(3)]
	case r.brokers.kafka != nil && c == 9:
		return []func(context.Context) error{r.freezeOne, r.freezeBroker}[r.rng.IntN(2)]
	case c < 4 || r.failover:
		return r.killOne
	case c < 7:
		return r.killBroker
	case c < 8:
		return r.killBoth
	}
	return r.breakLink
}

func (r *run) killed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for what, times := range r.counts {
		if len(what) > 5 && what[:5] == "kill " {
			n += times
		}
	}
	return n
}

func (r *run) between(low, high int) time.Duration {
	return time.Duration(low+r.rng.IntN(high-low)) * time.Millisecond
}

// reach waits for a random stage, or some time if none comes soon, and sometimes a few milliseconds longer. It returns
// the stage.
func (r *run) reach(ctx context.Context) string {
	of := r.stages()
	name := slices.Sorted(maps.Keys(of))[r.rng.IntN(len(of))]
	delay := time.Duration(r.rng.IntN(2)*r.rng.IntN(30_000)) * time.Microsecond
	if !r.monitor.await(ctx, of[name], 2*time.Second) {
		name = "at any time"
	}
	_ = clock.Sleep(ctx, delay) // its end ends the run
	return name
}

func (r *run) stages() map[string]string {
	switch {
	case r.kind != nil:
		return r.kind.stages
	case r.dispatch:
		return stagesOfRabbit
	}
	return stagesOfConsumers
}

// killOne kills a process at a stage.
func (r *run) killOne(ctx context.Context) error {
	all := r.victims()
	one := all[r.rng.IntN(len(all))]
	at := r.reach(ctx)
	one.Kill()
	one.Gone()
	r.count("kill process: " + at)
	r.say("killed a process: %s", at)
	if len(all) > 1 {
		if err := clock.Sleep(ctx, r.between(0, 1500)); err != nil {
			return err
		}
	}
	return one.Start(ctx)
}

// killBroker kills the server at a stage, and restarts it.
func (r *run) killBroker(ctx context.Context) error {
	at := r.reach(ctx)
	s, name := r.brokers.victim()
	if err := s.Kill(); err != nil {
		return err
	}
	r.count("kill " + name + ": " + at)
	r.say("killed %s: %s", name, at)
	if err := clock.Sleep(ctx, r.between(0, 1500)); err != nil {
		return err
	}
	return s.Restart()
}

// killBoth kills the broker, and meanwhile a process, which restarts without a broker.
func (r *run) killBoth(ctx context.Context) error {
	all := r.victims()
	one := all[r.rng.IntN(len(all))]
	at := r.reach(ctx)
	s, name := r.brokers.victim()
	if err := s.Kill(); err != nil {
		return err
	}
	if err := clock.Sleep(ctx, r.between(0, 800)); err != nil {
		return err
	}
	one.Kill()
	one.Gone()
	r.add("kill both: "+at, 2)
	r.say("killed %s and a process: %s", name, at)
	if err := one.Start(ctx); err != nil {
		return err
	}
	if err := clock.Sleep(ctx, r.between(0, 500)); err != nil {
		return err
	}
	return s.Restart()
}

// breakLink cuts, freezes or slows the connections with the broker for a while.
func (r *run) breakLink(ctx context.Context) error {
	l := r.brokers.link
	faults := []struct {
		name string
		do   func() error
	}{
		{"cut", func() error { l.Cut(); return nil }},
		{"reset", l.Reset},
		{"requests held", func() error { return l.Hold(cluster.Up) }},
		{"answers held", func() error { return l.Hold(cluster.Down) }},
		{"starved", func() error { return l.Starve(cluster.Up, cluster.Down) }},
		{"swallowed", func() error { return l.Swallow(cluster.Up, cluster.Down) }},
		{"answers swallowed", func() error { return l.Swallow(cluster.Down) }},
		{"slow", func() error { return l.Slow(100 * time.Millisecond) }},
		{"sliced", l.Slice},
	}
	f := faults[r.rng.IntN(len(faults))]
	at := r.reach(ctx)
	if err := f.do(); err != nil {
		return err
	}
	r.count("link " + f.name)
	r.say("link %s: %s", f.name, at)
	if err := clock.Sleep(ctx, r.between(100, 2500)); err != nil {
		return err
	}
	return l.Restore(ctx)
}

// freezeOne stops a process long enough for others to consider it dead.
func (r *run) freezeOne(ctx context.Context) error {
	all := r.victims()
	one := all[r.rng.IntN(len(all))]
	at := r.reach(ctx)
	one.Freeze()
	r.count("froze a process")
	r.say("froze a process: %s", at)
	err := clock.Sleep(ctx, r.between(500, 6000))
	one.Thaw()
	return err
}

func (r *run) freezeBroker(ctx context.Context) error {
	broker, name := freezer(r.brokers.rabbit), "RabbitMQ"
	if r.brokers.kafka != nil {
		broker, name = r.brokers.kafka, "Kafka"
	}
	at := r.reach(ctx)
	if err := broker.Freeze(); err != nil {
		return err
	}
	r.count("froze " + name)
	r.say("froze %s: %s", name, at)
	err := clock.Sleep(ctx, r.between(500, 6000))
	return errors.Join(err, broker.Thaw())
}

type freezer interface {
	Freeze() error
	Thaw() error
}

// raiseAlarm makes RabbitMQ block all publishers, as with a full disk.
func (r *run) raiseAlarm(ctx context.Context) error {
	at := r.reach(ctx)
	if err := r.brokers.rabbit.DiskAlarm(true); err != nil {
		return err
	}
	r.count("alarm of the disk")
	r.say("alarm of the disk: %s", at)
	err := clock.Sleep(ctx, r.between(500, 4000))
	return errors.Join(err, r.brokers.rabbit.DiskAlarm(false))
}

func (r *run) flushAll(ctx context.Context) error {
	at := r.reach(ctx)
	flush := r.flushJobs
	if r.world != nil {
		flush = r.world.flush
	}
	if err := flush(); err != nil {
		return err
	}
	r.count("kill by FLUSHALL: " + at)
	r.say("FLUSHALL: %s", at)
	return nil
}

// replace cuts the replica off, kills the master a moment later, and restarts it as a replica.
func (r *run) replace(ctx context.Context) error {
	if err := r.brokers.paired(ctx); err != nil {
		return err
	}
	at := r.reach(ctx)
	from := time.Now()
	if err := r.brokers.part(); err != nil {
		return err
	}
	if err := clock.Sleep(ctx, r.between(0, 600)); err != nil {
		return err
	}
	killed := time.Now()
	var old *redistest.Server
	failOver := func() (err error) {
		old, err = r.brokers.failOver(ctx)
		return err
	}
	replace := func(master func() error) error { return master() }
	if r.world != nil {
		replace = r.world.replace
	}
	if err := replace(failOver); err != nil {
		return err
	}
	r.count("kill by failover: " + at)
	r.windows = append(r.windows, window{from, time.Now()})
	r.say("the replica took over after %v: %s", time.Since(killed).Round(time.Millisecond), at)
	if err := r.back(ctx, killed); err != nil {
		return err
	}
	if err := old.Restart(); err != nil {
		return err
	}
	return r.brokers.paired(ctx)
}

// window is a time whose writes to Redis a failover has lost.
type window struct{ from, to time.Time }

// lostIn reports whether a failover may have lost or repeated something of a time. A write decided before the replica
// was cut off may come after it.
func (n *notes) lostIn(at time.Time) bool {
	for _, w := range n.windows {
		if at.After(w.from.Add(-slack)) && at.Before(w.to.Add(slack)) {
			return true
		}
	}
	return false
}

// slack bounds the time between a write to Redis and its recorded time.
const slack = 5 * time.Second
