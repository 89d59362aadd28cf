package siege

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
	"github.com/taskerhq/tasker/proof/crashtest/load"
	"github.com/taskerhq/tasker/worker/protocol"
)

// crew is all callers. Callers end when quiet is closed; workers continue until done is closed, so that everything can
// settle.
type crew struct {
	callers, workers errgroup.Group
	quiet, done      chan struct{}

	programs []*process.Worker
	zombies  []*load.Zombie
	watchers []*watcher
	ghosts   []*ghost
}

// join starts a caller. Its error is a violation, a wrong refusal, and ends the run: the rest may wait for it without
// end.
func (r *run) join(ctx context.Context, group *errgroup.Group, stop context.CancelCauseFunc, do func() error) {
	group.Go(func() error {
		err := do()
		if err != nil && ctx.Err() == nil {
			r.notes.add("refused", "%v", err)
			stop(err)
		}
		return err
	})
}

// hire starts all callers. Half of the producers, and some workers, use the balancer; the others use one node.
func (r *run) hire(ctx context.Context, stop context.CancelCauseFunc) error {
	c := &crew{quiet: make(chan struct{}), done: make(chan struct{})}
	r.crew = c
	for _, n := range r.Nodes {
		w := newWatcher(n, r.direct[n.Index], r.retry, &r.notes)
		if err := w.prepare(ctx); err != nil {
			return err
		}
		r.inquiry.worker[n], r.inquiry.task = w.me, w.task
		c.watchers = append(c.watchers, w)
		r.join(ctx, &c.workers, stop, func() error { return w.run(ctx, c.quiet, c.done) })
	}
	for i := range producers {
		client := r.balanced
		if i%2 == 1 {
			client = r.direct[i/2%len(r.direct)]
		}
		p := r.producer(fmt.Sprintf("p%d", i), uint64(100+i), client)
		r.join(ctx, &c.callers, stop, func() error { return p.Run(ctx, c.quiet) })
	}
	for i := range hoarders {
		z := &load.Zombie{Name: fmt.Sprintf("zombie%d", i), Rand: r.rand(uint64(200 + i)), Backend: protocol.Of(r.balanced),
			Retry: r.retry, Journal: r.journal}
		c.zombies = append(c.zombies, z)
		r.join(ctx, &c.callers, stop, func() error { return z.Run(ctx, c.quiet) })
	}
	for i, client := range append([]*tasker.Client{r.balanced}, r.direct...) {
		name, rng := fmt.Sprintf("sdk%d", i), r.rand(uint64(300+i))
		r.join(ctx, &c.workers, stop, func() error { return load.Work(ctx, c.done, client, r.handlers, name, rng) })
	}
	return errors.Join(r.hirePrograms(ctx, stop), r.hireGhosts(ctx, stop))
}

// hirePrograms starts worker processes on two of the nodes.
func (r *run) hirePrograms(ctx context.Context, stop context.CancelCauseFunc) error {
	for i, n := range r.Nodes[:2] {
		name, rng := fmt.Sprintf("program%d", i), r.rand(uint64(400+i))
		log, err := r.Log(r.options.Dir, name+".log")
		if err != nil {
			return err
		}
		w := &process.Worker{Program: r.Binary, URL: n.URL(), Name: name, Log: log, Group: r.Group}
		r.crew.programs = append(r.crew.programs, w)
		r.join(ctx, &r.crew.workers, stop, func() error { return w.Run(ctx, r.crew.done, rng) })
	}
	return nil
}

// hireGhosts starts workers whose connections stall, each on another node.
func (r *run) hireGhosts(ctx context.Context, stop context.CancelCauseFunc) error {
	for i := range ghosts {
		link, err := cluster.NewLink(r.Spare[i], r.Nodes[i].Address)
		if err != nil {
			return err
		}
		r.closers = append(r.closers, link.Close)
		client, err := r.dial("http://" + link.Address())
		if err != nil {
			return err
		}
		g := &ghost{name: fmt.Sprintf("ghost%d", i), rng: r.rand(uint64(500 + i)), backend: protocol.Of(client), link: link,
			retry: r.retry, journal: r.journal, notes: &r.notes}
		r.crew.ghosts = append(r.crew.ghosts, g)
		r.join(ctx, &r.crew.workers, stop, func() error { return g.run(ctx, r.crew.quiet) })
	}
	return nil
}

// producer returns a producer with separate random numbers: part must differ between the producers of a run.
func (r *run) producer(name string, part uint64, client *tasker.Client) *load.Producer {
	return &load.Producer{Name: name, Rand: r.rand(part), Client: client, Retry: r.retry, Journal: r.journal,
		Handlers: r.handlers, Flows: true}
}

// crowd starts n more producers on a node. The returned function ends and awaits them; a second call returns the same
// error. Faults call it one at a time.
func (r *run) crowd(ctx context.Context, n int, node *cluster.Node) func() error {
	var all errgroup.Group
	stop := make(chan struct{})
	r.crowds++
	for i := range n {
		p := r.producer(fmt.Sprintf("crowd%d-%d", r.crowds, i), rand.Uint64(), r.direct[node.Index])
		all.Go(func() error {
			err := p.Run(ctx, stop)
			if err != nil && ctx.Err() == nil {
				r.notes.add("refused", "%v", err)
			}
			return err
		})
	}
	return sync.OnceValue(func() error {
		close(stop)
		return all.Wait()
	})
}
