package inbox_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// No count falls, in whatever order letters die, are sent, return and are discarded, and processes end.
func TestCountsNeverFall(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		number := 0
		rapid.Check(t, func(rt *rapid.T) {
			c := &counted{rig: r, rt: rt, number: &number, arrivals: map[task.ID]inbox.Arrival{},
				last: map[task.ID][3]int{}}
			c.dies()
			verbs := []func(){c.dies, c.repeats, c.comesBack, c.comesBack, c.comesBack, c.sends, c.sends, c.ends, c.discards,
				c.restores, c.waits, c.restarts}
			for range rapid.IntRange(1, 12).Draw(rt, "acts") {
				verbs[rapid.IntRange(0, len(verbs)-1).Draw(rt, "act")]()
				c.compare()
			}
			r.broker.fails = nil
			for range 3 { // nothing is under way for the next run
				r.pass(time.Minute)
				c.compare()
			}
		})
	})
}

// counted is some letters, and their greatest counts.
type counted struct {
	*rig
	rt       *rapid.T
	number   *int // of the last message, over all runs
	ids      []task.ID
	arrivals map[task.ID]inbox.Arrival
	last     map[task.ID][3]int
}

func (c *counted) compare() {
	c.t.Helper()
	for _, id := range c.ids {
		l := c.letter(id)
		now := [3]int{l.Occurrences, l.Replays, l.Attempts}
		for i, before := range c.last[id] {
			if now[i] < before {
				c.rt.Fatalf("occurrences, replays and attempts of %s went from %v to %v", id, c.last[id], now)
			}
		}
		c.last[id] = now
	}
}

func (c *counted) one() task.ID { return rapid.SampledFrom(c.ids).Draw(c.rt, "letter") }

func (c *counted) dies() {
	*c.number++
	a := dead(*c.number, "Timeout")
	a.Position = fmt.Sprintf("dlq/0@%d", *c.number)
	id := c.die(a)[0].Letter
	c.ids = append(c.ids, id)
	c.arrivals[id] = a
}

func (c *counted) repeats() { c.die(c.arrivals[c.one()]) }

// comesBack delivers the death of any send, perhaps of one that was never made.
func (c *counted) comesBack() {
	*c.number++
	l := c.letter(c.one())
	a := back(l, "Schema")
	a.Position = fmt.Sprintf("dlq/0@%d", *c.number)
	a.Replays = rapid.IntRange(0, l.Replays+1).Draw(c.rt, "send")
	c.die(a)
}

// the broker may refuse, or not answer
func (c *counted) sends() {
	c.broker.fails = func(seam.Outgoing) error {
		return []error{nil, errors.New("refused"), seam.ErrUnknown, seam.ErrNotTried}[rapid.IntRange(0, 3).Draw(c.rt,
			"answer")]
	}
	if c.redrives() {
		c.advance()
	}
	c.broker.fails = nil
}

// ends ends the process between a send and its record.
func (c *counted) ends() {
	if c.redrives() {
		c.crash(nil)
	}
}

func (c *counted) redrives() bool {
	_, err := c.CreateRedrive(c.t.Context(), redrive.Request{Operation: model.OpRedrive, Start: true,
		IncludeParked: true, Plan: deadletter.Plan{Canary: 100, Largest: 100, Observe: deadletter.NoObservation},
		Selection: deadletter.Selection{Namespace: "default", Source: "orders", IDs: c.ids}})
	if err != nil {
		c.refused(err, task.Conflict)
	}
	return err == nil
}

func (c *counted) discards() {
	if _, err := c.DiscardLetter(c.t.Context(), c.one(), inbox.By{Reason: "a test"}); err != nil {
		c.refused(err, task.WrongState)
	}
}

func (c *counted) restores() {
	if _, err := c.RestoreLetter(c.t.Context(), c.one(), inbox.By{}); err != nil {
		c.refused(err, task.WrongState)
	}
}

func (c *counted) waits() { c.pass(15 * time.Second) }

func (c *counted) restarts() {
	n, err := node.New(c.t.Context(), c.db, node.Options{Now: c.clock, Carriers: c.carriers})
	if err != nil {
		c.t.Fatal(err)
	}
	c.node, c.Inbox = n, n.Inbox()
}
