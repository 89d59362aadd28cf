package inbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/task"
)

// sendLanes bounds the sources whose letters are sent at the same time.
const sendLanes = 8

// send sends what is marked, and returns the results of the batch, with those that were decided without sending.
// Letters of one source are sent in their order, and sources next to each other: one whose broker is slow takes no time
// from others. sendTime bounds the whole batch: it must end before another process could take its marks for orphans
// (orphanAfter).
func (b *batch) send(ctx context.Context) []result {
	began := time.Now()
	defer func() { b.in.opts.Observer.Took(observedSend, time.Since(began)) }()
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	lanes, bySource := []*deadletter.Source{}, map[*deadletter.Source][]outgoing{}
	for _, o := range b.sending {
		if bySource[o.source] == nil {
			lanes = append(lanes, o.source)
		}
		bySource[o.source] = append(bySource[o.source], o)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	results, room := b.decided, make(chan struct{}, sendLanes)
	for _, source := range lanes {
		room <- struct{}{}
		all.Go(func() {
			of := b.sendInOrder(ctx, bySource[source])
			<-room
			mu.Lock()
			defer mu.Unlock()
			results = append(results, of...)
		})
	}
	all.Wait()
	return results
}

// sendInOrder sends letters of one source. Neighbours with the same destination go to the carrier together; the order
// of the items is kept, which is why others are not grouped.
func (b *batch) sendInOrder(ctx context.Context, letters []outgoing) (results []result) {
	for from := 0; from < len(letters); {
		to := from + 1
		first := letters[from]
		for to < len(letters) && letters[to].destination == first.destination {
			to++
		}
		run := make([]Outgoing, 0, to-from)
		for _, o := range letters[from:to] {
			run = append(run, o.out)
		}
		errs := b.in.opts.Carriers[first.source.Driver].Send(ctx, first.source, first.destination, run)
		now := b.in.now()
		for k, o := range letters[from:to] {
			results = append(results, sent(o, errs[k], now))
		}
		from = to
	}
	return results
}

// sent is the result of one send. An uncertain send counts as sent: the broker may have the letter, and a second copy
// would be worse than one that an operator looks at.
func sent(o outgoing, err error, now task.Instant) result {
	i := o.item
	i.At = now
	switch {
	case err == nil:
		i.State = deadletter.ItemSent
	case errors.Is(err, ErrUncertain) || errors.Is(err, ErrRepeated):
		i.State, i.Uncertain, i.Message = deadletter.ItemSent, true, itemMessage(err)
		err = nil
	case i.Uncertain:
		i.State, i.Message = deadletter.ItemFailed, itemMessage(fmt.Errorf("another process may have sent it; then: %w", err))
	default:
		i.State, i.Message = deadletter.ItemFailed, itemMessage(err)
	}
	return result{item: i, letter: o.out.Letter, err: err}
}
