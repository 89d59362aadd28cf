package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/kafkaurl"
)

const polite = 3 * time.Second

type conn struct {
	target *kafkaurl.Target
	opts   options
	client *kgo.Client
	admin  *kadm.Client

	ended context.Context
	end   context.CancelFunc

	closing sync.WaitGroup // of abandoned producers

	mu        sync.Mutex
	closed    bool
	idle      []*producer
	receivers map[*receiver]struct{}
	lifetimes map[string]known
}

type options struct {
	group       string // "": it follows from the topic
	latest      bool   // begin at the end of a topic that the group has not read yet
	uncommitted bool
	session     time.Duration
	largest     int // bytes of a message to send
}

// Open connects to the cluster of a URL. Besides the parameters of package kafkaurl it takes
//
//	group=NAME        the consumer group; without it "tasker-" and the name of the topic
//	start=WHERE       where the group begins: earliest, the default, or latest
//	isolation=LEVEL   read_committed, the default, or read_uncommitted
//	session=SECONDS   after which a node that is gone loses its partitions: 1 to 1800, by default 10
//	max_message=N     bytes of the largest message that is sent, by default 64 MiB
func Open(ctx context.Context, url string) (driver.Driver, error) {
	target, err := kafkaurl.Parse(url, "group", "start", "isolation", "session", "max_message")
	if err != nil {
		return nil, err
	}
	c := &conn{target: target, receivers: map[*receiver]struct{}{}, lifetimes: map[string]known{}}
	if c.opts, err = parseOptions(target); err != nil {
		return nil, err
	}
	c.ended, c.end = context.WithCancel(context.Background())
	// It remembers no topics: one may be new.
	if c.client, err = c.newClient(kgo.MetadataMinAge(10 * time.Millisecond)); err != nil {
		c.end()
		return nil, err
	}
	c.admin = kadm.NewClient(c.client)
	if err := c.client.Ping(ctx); err != nil {
		_ = c.Close()
		return nil, classify(err)
	}
	return c, nil
}

func parseOptions(t *kafkaurl.Target) (o options, err error) {
	bad := func(name, must string) {
		if err == nil {
			err = fmt.Errorf("%s in the URL of Kafka must be %s", name, must)
		}
	}
	second := func(name, first, second string) bool {
		if word := cmp.Or(t.Own.Get(name), first); word != first && word != second {
			bad(name, first+" or "+second)
		}
		return t.Own.Get(name) == second
	}
	number := func(name string, otherwise, low, high int, unit string) int {
		n, wrong := strconv.Atoi(cmp.Or(t.Own.Get(name), strconv.Itoa(otherwise)))
		if wrong != nil || n < low || n > high {
			bad(name, fmt.Sprintf("%d to %d %s", low, high, unit))
		}
		return n
	}
	o = options{group: t.Own.Get("group"), latest: second("start", "earliest", "latest"),
		uncommitted: second("isolation", "read_committed", "read_uncommitted"),
		session:     time.Duration(number("session", 10, 1, 1800, "seconds")) * time.Second,
		largest:     number("max_message", 64<<20, 1024, 1<<30, "bytes")}
	return o, err
}

func (c *conn) groupOf(topic string) string { return cmp.Or(c.opts.group, "tasker-"+topic) }

func (c *conn) newClient(options ...kgo.Opt) (*kgo.Client, error) {
	return c.target.Client(append([]kgo.Opt{kgo.WithContext(c.ended), kgo.RequestTimeoutOverhead(5 * time.Second),
		kgo.RetryTimeout(10 * time.Second), kgo.MetadataMinAge(250 * time.Millisecond)}, options...)...)
}

func (c *conn) topic(ctx context.Context, name string) (kadm.TopicDetail, error) {
	if c.ended.Err() != nil {
		return kadm.TopicDetail{}, driver.ErrClosed
	}
	if name == "" || len(name) > 249 {
		return kadm.TopicDetail{}, fmt.Errorf("%w: the name of a topic has 1 to 249 characters", driver.ErrNotFound)
	}
	found, err := c.admin.ListTopics(ctx, name)
	if err != nil {
		return kadm.TopicDetail{}, c.fail(err)
	}
	of, ok := found[name]
	if !ok {
		return of, fmt.Errorf("the topic %q: %w", name, driver.ErrNotFound)
	}
	if of.Err != nil {
		return of, fmt.Errorf("the topic %q: %w", name, classify(of.Err))
	}
	return of, nil
}

// Stat implements driver.Driver. The waiting messages are the lag of the group, by its commits.
func (c *conn) Stat(ctx context.Context, name string) (exists bool, depth int64, err error) {
	to, err := parse(name)
	if err != nil {
		return false, 0, err
	}
	of, err := c.topic(ctx, to.topic)
	if errors.Is(err, driver.ErrNotFound) {
		return false, 0, nil
	}
	if err != nil {
		return false, 0, err
	}
	if to.partition >= 0 {
		_, ok := of.Partitions[to.partition]
		return ok, -1, nil
	}
	lags, err := c.Lag(ctx, to.topic)
	if errors.Is(err, driver.ErrRefused) { // a writer need not be allowed to read
		return true, -1, nil
	}
	for _, l := range lags {
		depth += l.Lag
	}
	return err == nil, depth, err
}

func (c *conn) Close() error {
	c.mu.Lock()
	closing, idle := c.receivers, c.idle
	c.closed, c.receivers, c.idle = true, nil, nil
	c.mu.Unlock()
	for r := range closing {
		_ = r.Close()
	}
	c.end()
	for _, p := range idle {
		p.client.Close()
	}
	c.client.Close()
	c.closing.Wait()
	return nil
}

func (c *conn) fail(err error) error {
	if err != nil && c.ended.Err() != nil {
		return driver.ErrClosed
	}
	return classify(err)
}

// meanings are Kafka's answers that are not transient.
var meanings = []struct {
	meaning error
	of      []error
}{
	{driver.ErrNotFound, []error{kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.InvalidTopicException}},
	{driver.ErrTooLarge, []error{kerr.MessageTooLarge, kerr.RecordListTooLarge}},
	{driver.ErrRefused, []error{kerr.TopicAuthorizationFailed, kerr.GroupAuthorizationFailed,
		kerr.ClusterAuthorizationFailed, kerr.InvalidTimestamp, kerr.InvalidRecord, kerr.PolicyViolation,
		kerr.InvalidGroupID}},
}

// classify converts an error of the client. It says nothing about the outcome of a message.
func classify(err error) error {
	switch {
	case err == nil, errors.Is(err, driver.ErrClosed):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, kgo.ErrClientClosed):
		return fmt.Errorf("%w: %w", driver.ErrLost, err)
	}
	for _, m := range meanings {
		if slices.ContainsFunc(m.of, func(of error) bool { return errors.Is(err, of) }) {
			return fmt.Errorf("%w: %w", m.meaning, err)
		}
	}
	return err
}
