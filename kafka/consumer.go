package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/kit/clock"
)

const (
	commitInterval = time.Second
	commitTimeout  = 10 * time.Second
	pollRecords    = 1000
	fetchPause     = time.Second
)

// Clock is a consumer's time; tests replace it. Its methods are called concurrently.
type Clock interface {
	Now() time.Time
	// Sleep blocks for d. When ctx ends earlier it immediately returns the error of ctx.
	Sleep(ctx context.Context, d time.Duration) error
}

// Result is the result of an event.
type Result struct {
	// Failures counts failures of the event, including those in earlier processes.
	Failures int
	// DeadLetter: the event failed for good and is stored as a dead letter.
	DeadLetter bool
	// Err is the last error; nil if the event never failed in this process.
	Err error
}

// ProcessEnded is the error of an attempt that did not end: its process was killed, called os.Exit, ran out of memory,
// or lost the partition unnoticed. Such an attempt counts from the third time on, because before that it is not known
// which event the process was in.
type ProcessEnded struct{}

// Error implements error.
func (ProcessEnded) Error() string {
	return "the process ended during the attempt: it was killed, exited, or lost the partition"
}

// ConsumerOptions are the settings of a Consumer.
type ConsumerOptions struct {
	// Kafka configures the access to the brokers: kgo.SeedBrokers, TLS, SASL. Required. Options of the group are set
	// after them. A new group begins with the oldest event, unless kgo.ConsumeResetOffset says otherwise.
	Kafka []kgo.Opt
	// Group is the consumer group. Required.
	Group string
	// Topics to consume. Required.
	Topics []string
	// Handler runs one event. It should be idempotent: an event runs again after a crash. A panic is an error. Its
	// context ends DrainTimeout after the partition is taken away, or the consumer stops. Required.
	Handler func(ctx context.Context, event *kgo.Record) error
	// Letters takes events that failed for good. The Consumer runs it. Required.
	Letters *DeadLetters
	// MaxAttempts bounds the attempts of an event: after that many failures it is a dead letter. The first two attempts
	// that end the process do not count; see ProcessEnded. 1 to 1000. Defaults to 3.
	MaxAttempts int
	// RetryBase is the delay after the first failure; it doubles with each. 1ms to 24h. Defaults to 1s.
	RetryBase time.Duration
	// RetryMax bounds the delay. RetryBase to 24h. Defaults to 30s, or RetryBase if that is longer.
	RetryMax time.Duration
	// Permanent decides which errors another attempt would meet again. Defaults to IsPermanent.
	Permanent func(error) bool
	// DrainTimeout is how long a running event may continue when its partition is taken away or the consumer stops. 0
	// to 1h; more than the time for a rebalance (a minute, see kgo.RebalanceTimeout) makes the group wait. Defaults to
	// 30s; negative: none.
	DrainTimeout time.Duration
	// OnResult is called for each event that succeeded or became a dead letter, before its offset is committed. Calls
	// are concurrent, and each blocks its partition. May be nil.
	OnResult func(*kgo.Record, Result)
	// Clock defaults to the machine's.
	Clock Clock
	// Random returns a number from 0 to below 1: up to a quarter is added to delays. It is called concurrently.
	// Defaults to math/rand.
	Random func() float64
	// Logger gets a message for each failure, and when Kafka does not answer. Defaults to silence.
	Logger *slog.Logger
}

const maxDelay = 24 * time.Hour

func (o *ConsumerOptions) setDefaults() error {
	if len(o.Kafka) == 0 || o.Group == "" || len(o.Topics) == 0 || o.Handler == nil || o.Letters == nil {
		return errors.New("ConsumerOptions needs Kafka, Group, Topics, Handler and Letters")
	}
	o.MaxAttempts = cmp.Or(o.MaxAttempts, 3)
	o.RetryBase = cmp.Or(o.RetryBase, time.Second)
	o.RetryMax = cmp.Or(o.RetryMax, max(30*time.Second, o.RetryBase))
	o.DrainTimeout = cmp.Or(o.DrainTimeout, 30*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Permanent == nil {
		o.Permanent = IsPermanent
	}
	if o.OnResult == nil {
		o.OnResult = func(*kgo.Record, Result) {}
	}
	if o.Clock == nil {
		o.Clock = clock.System{}
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	return o.check()
}

func (o *ConsumerOptions) check() error {
	switch {
	case o.MaxAttempts < 1 || o.MaxAttempts > 1000:
		return fmt.Errorf("ConsumerOptions.MaxAttempts must be 1 to 1000, not %d", o.MaxAttempts)
	case o.RetryBase < time.Millisecond || o.RetryBase > maxDelay:
		return fmt.Errorf("ConsumerOptions.RetryBase must be 1ms to 24h, not %v", o.RetryBase)
	case o.RetryMax < o.RetryBase || o.RetryMax > maxDelay:
		return fmt.Errorf("ConsumerOptions.RetryMax must be RetryBase (%v) to 24h, not %v", o.RetryBase, o.RetryMax)
	case o.DrainTimeout > time.Hour:
		return fmt.Errorf("ConsumerOptions.DrainTimeout must be at most 1h, not %v", o.DrainTimeout)
	}
	return nil
}

// Consumer is a member of a consumer group that runs a function for each event.
type Consumer struct {
	o        ConsumerOptions
	began    atomic.Bool
	ready    chan struct{} // closed when the next two are there; the group may call back before
	client   *kgo.Client
	progress *progress

	mu         sync.Mutex
	partitions map[place]*partition
	stats      ConsumerStats
}

// ConsumerStats counts results since Run began.
type ConsumerStats struct {
	Succeeded  int64 `json:"succeeded"`
	Failures   int64 `json:"failures"`     // of attempts
	DeadLetter int64 `json:"dead_letters"` // failed for good
	Partitions int   `json:"partitions"`   // of the consumer now
}

// NewConsumer returns a Consumer. It connects to nothing.
func NewConsumer(o ConsumerOptions) (*Consumer, error) {
	if err := o.setDefaults(); err != nil {
		return nil, err
	}
	c := &Consumer{o: o, ready: make(chan struct{}), partitions: map[place]*partition{}}
	if err := kgo.ValidateOpts(c.options()...); err != nil {
		return nil, fmt.Errorf("new consumer: %w", err)
	}
	return c, nil
}

func (c *Consumer) options() []kgo.Opt {
	return slices.Concat([]kgo.Opt{kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}, c.o.Kafka, []kgo.Opt{
		kgo.ConsumerGroup(c.o.Group), kgo.ConsumeTopics(c.o.Topics...), kgo.DisableAutoCommit(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepRetryableFetchErrors(),
		kgo.OnPartitionsAssigned(c.assigned), kgo.OnPartitionsRevoked(c.revoked), kgo.OnPartitionsLost(c.lost)})
}

// Run joins the group and runs events until ctx ends. Then it lets running events end for DrainTimeout, commits
// finished ones and leaves the group. It waits for handlers that ignore their contexts.
//
// Run returns nil once all of this is done. While Kafka does not answer it retries without end; it returns an error
// only for a second call, or for refused options.
func (c *Consumer) Run(ctx context.Context) error {
	if c.began.Swap(true) {
		return errors.New("Run was called before")
	}
	client, err := kgo.NewClient(c.options()...)
	if err != nil {
		return fmt.Errorf("run a consumer: %w", err)
	}
	c.client, c.progress = client, newProgress(client, c.o.Group)
	close(c.ready)
	var background sync.WaitGroup
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	background.Go(func() { _ = c.o.Letters.Run(working) }) // it returns nil
	background.Go(func() { c.commitLoop(working) })
	c.poll(ctx)
	c.end(c.all(), true)
	stop()
	background.Wait()
	c.client.Close()
	return nil
}

// Stats returns counts since Run began.
func (c *Consumer) Stats() ConsumerStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Partitions = len(c.partitions)
	return s
}

func (c *Consumer) poll(ctx context.Context) {
	troubled := false
	for {
		fetches := c.client.PollRecords(ctx, pollRecords)
		if ctx.Err() != nil {
			return
		}
		var trouble error
		fetches.EachError(func(topic string, n int32, err error) {
			trouble = fmt.Errorf("topic %s, partition %d: %w", topic, n, err)
		})
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			// A missing partition was taken away after this poll.
			if part := c.partition(place{p.Topic, p.Partition}); part != nil && len(p.Records) > 0 {
				part.add(p.Records)
			}
		})
		if trouble == nil {
			troubled = false
			continue
		}
		if !troubled {
			c.o.Logger.Warn("events cannot be read; trying again", "error", trouble)
		}
		troubled = true
		_ = clock.Sleep(ctx, fetchPause) // the next poll returns immediately when ctx has ended
	}
}

// commitLoop commits finished events until ctx ends: every second, and when a partition is far ahead.
func (c *Consumer) commitLoop(ctx context.Context) {
	tick := time.NewTicker(commitInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-c.progress.due:
		}
		if err := c.progress.commit(nil); err != nil {
			c.o.Logger.Warn("offsets cannot be committed; trying again", "error", err)
		}
	}
}

func (c *Consumer) partition(at place) *partition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.partitions[at]
}

func (c *Consumer) all() []place {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.partitions))
}

func (c *Consumer) assigned(ctx context.Context, _ *kgo.Client, m map[string][]int32) {
	<-c.ready
	pasts, err := c.progress.pasts(ctx, places(m))
	if err != nil {
		c.o.Logger.Warn("the counts of failures cannot be read; they begin at 0", "error", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, at := range places(m) {
		was, ok := pasts[at]
		if !ok {
			was = unread
		}
		c.partitions[at] = c.begin(at, was)
	}
}

// revoked stops partitions that go to another member, and commits finished events.
func (c *Consumer) revoked(_ context.Context, _ *kgo.Client, m map[string][]int32) {
	c.end(places(m), true)
}

// lost stops partitions that others may already have, without a commit.
func (c *Consumer) lost(_ context.Context, _ *kgo.Client, m map[string][]int32) {
	c.end(places(m), false)
}

func (c *Consumer) end(list []place, commit bool) {
	var ending []*partition
	c.mu.Lock()
	for _, at := range list {
		if p := c.partitions[at]; p != nil {
			ending = append(ending, p)
			delete(c.partitions, at)
		}
	}
	c.mu.Unlock()
	for _, p := range ending {
		p.stop()
	}
	for _, p := range ending {
		p.wait(c.o.DrainTimeout)
	}
	if commit && len(ending) > 0 {
		c.progress.stop(list)
		if err := c.progress.commit(list); err != nil {
			c.o.Logger.Warn("offsets cannot be committed; their events run again", "error", err)
		}
	}
	c.progress.forget(list)
}

func (c *Consumer) count(add func(*ConsumerStats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	add(&c.stats)
}

func places(m map[string][]int32) []place {
	var out []place
	for topic, list := range m {
		for _, n := range list {
			out = append(out, place{topic, n})
		}
	}
	return out
}
