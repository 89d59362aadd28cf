package scenario_test

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

// Scripts with a seed from here on have pauses besides what deliverySeeds add.
const pauseSeeds = 2000

var (
	pauseVerbs  = []string{"pause", "pause", "unpause", "unpause"}
	pauseRivals = []rivalry{
		{[]string{"crew", "stock", "stock", "news"}, [2]string{"pause", "claim all"}},
		{[]string{"crew", "stock", "stock", "pause"}, [2]string{"unpause", "claim all"}},
		{[]string{"crew", "stock", "pause", "news"}, [2]string{"unpause", "pause"}},
		{[]string{"crew", "stock", "news"}, [2]string{"pause", "pause"}},
		{[]string{"pause", "advance"}, [2]string{"upkeep", "claim all"}},
		{[]string{"pause", "failing"}, [2]string{"unpause", "upkeep"}},
		{[]string{"pause", "news"}, [2]string{"submit", "unpause"}},
		{nil, [2]string{"pause", "settle"}},
		{[]string{"pause", "unpause"}, [2]string{"claim", "upkeep"}},
	}
)

var duoTargets = []task.PauseTarget{
	{Kind: task.PauseHandler, Namespace: engine.DefaultNamespace, Name: "h"},
	{Kind: task.PauseRoute, Namespace: engine.DefaultNamespace, Name: "i"},
	{Kind: task.PauseTemplate, Namespace: engine.DefaultNamespace, Name: "chain"},
	{Kind: task.PauseTemplate, Namespace: engine.DefaultNamespace, Name: "timed"},
}

// pauseEnds are pauses with their ends; zero for never.
type pauseEnds map[task.PauseTarget]time.Time

type duoPauses struct {
	stored  pauseEnds
	follows map[*node]pauseEnds
	acts    map[task.PauseTarget]int       // begins and ends of verbs about a target
	last    map[task.PauseTarget]time.Time // the last pause, resume or planned end of a target
}

func newDuoPauses() duoPauses {
	return duoPauses{stored: pauseEnds{}, follows: map[*node]pauseEnds{}, acts: map[task.PauseTarget]int{},
		last: map[task.PauseTarget]time.Time{}}
}

// followed returns the pauses that a node follows; the caller holds mu.
func (d *duo) followed(n *node) pauseEnds {
	if d.follows[n] == nil {
		d.follows[n] = pauseEnds{}
	}
	return d.follows[n]
}

func (d *duo) learned(nodes ...*node) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range nodes {
		d.follows[n] = maps.Clone(d.stored)
	}
}

// pauseVerb pauses or resumes on a node. The order of two parallel verbs on one target is unknown.
func (d *duo) pauseVerb(n *node, o op) error {
	target := duoTargets[o.n[0]%uint32(len(duoTargets))]
	d.mu.Lock()
	d.acts[target]++
	acts := d.acts[target]
	if o.kind == "unpause" || acts%2 == 0 {
		d.unknown(target)
	}
	d.mu.Unlock()
	var until time.Time
	var err error
	if o.kind == "unpause" {
		_, err = n.engine.ResumePaused(n.ctx, target, "ada", "")
		err = unless(err, task.NotFound)
	} else {
		r := engine.PauseRequest{Target: target, Actor: "ada"}
		if o.n[1]%3 > 0 {
			until = d.now.Add([]time.Duration{time.Second, 40 * time.Second, 5 * time.Minute, 9 * time.Minute}[o.n[2]%4])
			r.Until = task.At(until)
		}
		_, _, err = n.engine.Pause(n.ctx, r)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.acts[target]++
	d.last[target] = later(d.last[target], later(d.now, until))
	switch alone := d.acts[target] == acts+1 && acts%2 == 1; {
	case err != nil:
	case !alone:
		d.unknown(target)
	case o.kind == "pause":
		for other := range d.follows { // it may have heard of the new end, or not
			if at, ok := d.follows[other][target]; ok && !until.IsZero() && (at.IsZero() || until.Before(at)) {
				d.follows[other][target] = until
			}
		}
		d.followed(n)[target], d.stored[target] = until, until
	}
	return err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// unknown forgets the pauses of a target; the caller holds mu.
func (d *duo) unknown(target task.PauseTarget) {
	delete(d.stored, target)
	for n := range d.follows {
		delete(d.follows[n], target)
	}
}

func (d *duo) pausesOf(n *node) pauseEnds {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.followed(n))
}

// unpaused checks that a node handed out nothing that it followed before and still follows.
func (d *duo) unpaused(n *node, before pauseEnds, leases []engine.Lease) error {
	d.mu.Lock()
	now := d.followed(n)
	for target := range before {
		if until, still := now[target]; !still || !until.IsZero() && !d.now.Before(until) {
			delete(before, target)
		}
	}
	d.mu.Unlock()
	var err error
	for i := range leases {
		r, failed := n.engine.RouteOf(n.ctx, leases[i].Step.RouteID)
		if failed != nil {
			return failed
		}
		for target := range before {
			paused := target.Name == r.Handler
			if target.Kind == task.PauseTemplate {
				paused = !leases[i].Template.Adhoc && target.Name == leases[i].Template.Name
			} else if target.Kind == task.PauseRoute {
				paused = paused && len(r.Capabilities) == 0
			}
			if paused {
				err = errors.Join(err, fmt.Errorf("step %s was handed out by %s, which follows the pause of %s",
					leases[i].Step.ID, n.name, target))
			}
		}
	}
	return err
}

func (d *duo) pausedSince(r *task.Route, since time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for target, at := range d.last {
		if _, held := d.stored[target]; target.Name == r.Handler && (held || !at.Before(since)) {
			return true
		}
	}
	return false
}

func (d *duo) resumeAll(n *node) error {
	for _, target := range duoTargets {
		if _, err := n.engine.ResumePaused(n.ctx, target, "ada", ""); unless(err, task.NotFound) != nil {
			return err
		}
		d.unknown(target)
	}
	return nil
}
