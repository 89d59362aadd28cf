package kafka

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/model/attempt"
)

const (
	// Fetching stops at maxQueued waiting events, until there are fewQueued.
	maxQueued, fewQueued = 2000, 1000
	// storePause is the pause after a dead letter that could not be stored; it doubles up to maxStorePause.
	storePause, maxStorePause = time.Second, time.Minute
	// watch is how far a crashed member may have been ahead of its commits.
	watch = 2 * often
	// blockEvents is how many of them are noted at a time.
	blockEvents = 50
	// jitter is the greatest share added to a delay.
	jitter = 0.25
)

type place struct {
	topic string
	n     int32
}

type partition struct {
	*Consumer
	at   place
	past past // how the former member left it

	// After a crash of the former member, one of the watched events may be the cause. They are noted in blocks, before
	// they begin. The events of a block in which a member ends become suspects, which are noted one by one.
	watched, block, suspects int // remaining events
	noted                    bool

	// running is the context of the handler, stopping that of its pauses.
	running, stopping context.Context
	abort, stop       context.CancelFunc
	done              chan struct{}

	mu     sync.Mutex
	queue  []*kgo.Record
	paused bool
	wake   chan struct{}
}

func (c *Consumer) begin(at place, was past) *partition {
	p := &partition{Consumer: c, at: at, past: was, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	if !was.stopped {
		p.watched, p.suspects = watch, was.among
	}
	p.running, p.abort = context.WithCancel(context.Background())
	p.stopping, p.stop = context.WithCancel(p.running)
	// An earlier time with this partition may have paused it.
	c.client.ResumeFetchPartitions(map[string][]int32{at.topic: {at.n}})
	go p.run()
	return p
}

// wait waits for the running event, for a time; then its context ends.
func (p *partition) wait(limit time.Duration) {
	timer := time.AfterFunc(max(limit, 0), p.abort)
	defer timer.Stop()
	<-p.done
	p.abort()
}

// add queues events, and pauses fetching when many wait.
func (p *partition) add(records []*kgo.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, records...)
	if len(p.queue) > maxQueued && !p.paused {
		p.paused = true
		p.client.PauseFetchPartitions(map[string][]int32{p.at.topic: {p.at.n}})
	}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// next blocks for the next event; nil when the partition ends.
func (p *partition) next() *kgo.Record {
	for p.stopping.Err() == nil {
		if r := p.take(); r != nil {
			return r
		}
		select {
		case <-p.wake:
		case <-p.stopping.Done():
		}
	}
	return nil
}

func (p *partition) take() *kgo.Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return nil
	}
	r := p.queue[0]
	p.queue[0] = nil
	p.queue = p.queue[1:]
	if p.paused && len(p.queue) < fewQueued {
		p.paused = false
		p.client.ResumeFetchPartitions(map[string][]int32{p.at.topic: {p.at.n}})
	}
	return r
}

func (p *partition) run() {
	defer close(p.done)
	for r := p.next(); r != nil; r = p.next() {
		result, settled := p.settle(r)
		if !settled {
			return
		}
		p.o.OnResult(r, result)
		p.finish(r, result.Failures)
		p.count(func(s *ConsumerStats) {
			if result.DeadLetter {
				s.DeadLetter++
			} else {
				s.Succeeded++
			}
		})
	}
}

// settle runs an event until it succeeds or is stored as a dead letter; false when the partition ends before.
func (p *partition) settle(r *kgo.Record) (Result, bool) {
	var result Result
	if p.past.offset == r.Offset {
		result.Failures = p.past.failures
		if p.past.started {
			p.failed(&result, ProcessEnded{})
			p.o.Logger.Warn("the former process ended during an attempt of an event", "topic", r.Topic,
				"partition", r.Partition, "offset", r.Offset, "failures", result.Failures)
			if result.DeadLetter {
				return result, p.giveUp(r, result)
			}
		}
	}
	for {
		p.begins(r, result.Failures)
		err := attempt.Run(func() error { return p.o.Handler(p.running, r) })
		if err == nil {
			return result, true
		}
		if p.running.Err() != nil { // cancelled, which is no failure of the event
			return result, false
		}
		if p.failed(&result, err); result.DeadLetter {
			return result, p.giveUp(r, result)
		}
		delay := p.delay(result.Failures)
		p.o.Logger.Warn("an event failed and is delivered again", "topic", r.Topic, "partition", r.Partition,
			"offset", r.Offset, "failures", result.Failures, "delay", delay, "error", err)
		if err := p.progress.failed(p.at, r, result.Failures); err != nil {
			p.o.Logger.Warn("the number of failures cannot be stored", "error", err)
		}
		if p.o.Clock.Sleep(p.stopping, delay) != nil {
			return result, false
		}
	}
}

func (p *partition) failed(result *Result, err error) {
	result.Failures++
	result.Err = err
	result.DeadLetter = result.Failures >= p.o.MaxAttempts || p.o.Permanent(err)
	p.count(func(s *ConsumerStats) { s.Failures++ })
}

// begins stores the beginning of an attempt in which the process may end: of an event that has failed, a suspect, or
// the first of a block. The first event of a partition is always noted: if this member ends, the group must not read
// that the former one has stopped.
func (p *partition) begins(r *kgo.Record, failures int) {
	n := note{failures: failures, started: failures > 0 || p.suspects > 0}
	switch {
	case n.started:
	case p.watched > 0 && p.block == 0:
		p.block = blockEvents
		n.among = p.block
	case p.noted:
		return
	}
	p.noted = true
	if err := p.progress.begins(p.at, r, n); err != nil {
		p.watched, p.block, p.suspects = 0, 0, 0 // Kafka does not answer, and must not hold up one event after the other
		p.o.Logger.Warn("the beginning of an attempt cannot be stored; if the process ends, it is not counted",
			"topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "error", err)
	}
}

// finish notes a finished event. A noted attempt is committed immediately, unless the note of the next follows.
func (p *partition) finish(r *kgo.Record, failures int) {
	noted := failures > 0 || p.suspects > 0
	p.watched, p.block, p.suspects = max(p.watched-1, 0), max(p.block-1, 0), max(p.suspects-1, 0)
	p.progress.done(p.at, r, p.block)
	if !noted || p.suspects > 0 && p.waiting() {
		return
	}
	if err := p.progress.commit([]place{p.at}); err != nil {
		p.o.Logger.Warn("an offset cannot be committed; trying again", "topic", r.Topic, "partition", r.Partition,
			"error", err)
	}
}

func (p *partition) waiting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue) > 0
}

// giveUp stores a dead letter, with retries: the event is not skipped.
func (p *partition) giveUp(r *kgo.Record, result Result) bool {
	for pause := storePause; ; pause = min(2*pause, maxStorePause) {
		err := p.o.Letters.SendToDLQ(p.running, r, r.Topic, result.Err, result.Failures-1)
		if err == nil {
			return true
		}
		p.o.Logger.Error("a dead letter cannot be stored; its partition waits", "topic", r.Topic,
			"partition", r.Partition, "offset", r.Offset, "error", err)
		if p.o.Clock.Sleep(p.stopping, pause) != nil {
			return false
		}
	}
}

func (p *partition) delay(failures int) time.Duration {
	d := min(float64(p.o.RetryBase)*math.Pow(2, float64(failures-1)), float64(p.o.RetryMax))
	return time.Duration(d * (1 + jitter*p.o.Random()))
}
