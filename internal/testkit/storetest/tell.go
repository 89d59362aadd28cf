package storetest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/testkit/await"
)

func attended(p *pair) {
	is := func(n Node) bool {
		there, err := n.FeedSubscribed(p.Context())
		p.must(err)
		return there
	}
	p.equal("at first", is(p.a) || is(p.b), false)
	p.must(p.a.SubscribeFeed(p.Context(), time.Hour))
	p.equal("by itself", is(p.a), false)
	p.equal("by another", is(p.b), true)
	p.must(p.b.SubscribeFeed(p.Context(), time.Hour))
	p.equal("by each other", is(p.a) && is(p.b), true)
	p.must(p.a.SubscribeFeed(p.Context(), 0))
	p.equal("no more", is(p.b), false)
	p.must(p.a.SubscribeFeed(p.Context(), 20*time.Millisecond))
	await.Until(p, "it runs out", func() bool { return !is(p.b) })
	p.equal("a turn at a loop is something else", p.turn(p.a, "x", time.Hour) && !is(p.b), true)
}

// feedBatches gathers a process's received messages.
func (p *pair) feedBatches(of Node) func() []feed.Batch {
	var mu sync.Mutex
	var all []feed.Batch
	ctx, cancel := context.WithCancel(p.Context())
	connected, ended := make(chan struct{}), make(chan struct{})
	var once sync.Once
	go func() {
		defer close(ended)
		_ = of.Subscribe(ctx, func(n engine.PeerEvents) {
			once.Do(func() { close(connected) })
			mu.Lock()
			defer mu.Unlock()
			if n.Feed != nil {
				all = append(all, *n.Feed)
			}
		})
	}()
	p.Cleanup(func() { cancel(); <-ended })
	<-connected
	return func() []feed.Batch {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// Every message arrives unchanged and in order, in any amount.
func feedMessages(p *pair) {
	atB := p.feedBatches(p.b)
	rich := feed.Change{Kind: feed.CaseEnded, At: 1_700_000_000_000_001, Task: p.a.IDs().Take(p.now.Time(), 1), DefID: 3,
		Priority:      50,
		CorrelationID: `c"<'`, Tags: []string{"a", "ü"}, From: task.Pending, To: task.Complete, Cause: "settle",
		Case: p.a.IDs().Take(p.now.Time(), 1), Reason: "manual_dlq", Status: "cancelled"}
	many := make([]feed.Change, 1000)
	for i := range many {
		many[i] = rich
		many[i].At += task.Instant(i)
		many[i].Case = task.ID{}
	}
	p.must(p.a.PublishFeed(p.Context(), feed.Batch{Number: 1, Lost: true}))
	p.must(p.a.PublishFeed(p.Context(), feed.Batch{Number: 2, Changes: []feed.Change{rich}}))
	p.must(p.a.PublishFeed(p.Context(), feed.Batch{Number: 3, Changes: many}))
	heard := func() (got []feed.Change) {
		for _, t := range atB() {
			got = append(got, t.Changes...)
		}
		return got
	}
	await.Until(p, "all are heard", func() bool { return len(heard()) >= 1001 })
	p.equal("changes", heard(), append([]feed.Change{rich}, many...))
	first := atB()
	p.equal("numbers", []uint64{first[0].Number, first[1].Number, first[2].Number}, []uint64{1, 2, 3})
	p.equal("lost", []bool{first[0].Lost, first[1].Lost, first[2].Lost}, []bool{true, false, false})
	for _, t := range first {
		if t.From == "" || t.From != first[0].From {
			p.Errorf("told by %q, and before by %q", t.From, first[0].From)
		}
	}
}

// A change that is too long for a message is lost, and the loss reported.
func feedMessagesTooLong(p *pair) {
	atB := p.feedBatches(p.b)
	long := feed.Change{Kind: feed.TaskMoved, Task: p.a.IDs().Take(p.now.Time(), 1),
		Tags: []string{strings.Repeat("x", 9000)}}
	p.must(p.a.PublishFeed(p.Context(), feed.Batch{Number: 1, Changes: []feed.Change{long}}))
	await.Until(p, "it is heard of", func() bool { return len(atB()) == 1 })
	got := atB()[0]
	p.equal("lost or there", got.Lost || len(got.Changes) == 1, true)
}
