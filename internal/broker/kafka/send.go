package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// destination is where a message is sent. There are these forms:
//
//	TOPIC            the partition that its key belongs to, as Java's client finds it
//	TOPIC#N          the partition N
//	TOPIC#original   the partition that its headers name, as those of Spring and Kafka Connect do
type destination struct {
	topic     string
	partition int32 // -1: any
	original  bool
}

func parse(text string) (destination, error) {
	topic, where, certain := strings.Cut(text, "#")
	to := destination{topic: topic, partition: -1}
	switch {
	case !certain:
	case where == "original":
		to.original = true
	default:
		n, err := strconv.ParseInt(where, 10, 32)
		if err != nil || n < 0 {
			return to, fmt.Errorf("%w: a destination is written TOPIC, TOPIC#PARTITION or TOPIC#original",
				driver.ErrRefused)
		}
		to.partition = int32(n)
	}
	return to, nil
}

func (to destination) of(m *driver.Message, partitions int) (int32, error) {
	at := to.partition
	if to.original {
		var ok bool
		if at, ok = originalPartition(m); !ok {
			return -1, fmt.Errorf("%w: the message does not say in which partition it was", driver.ErrRefused)
		}
	}
	if int(at) >= partitions {
		return -1, fmt.Errorf("%w: the topic %q has no partition %d", driver.ErrNotFound, to.topic, at)
	}
	return at, nil
}

func originalPartition(m *driver.Message) (int32, bool) {
	for _, h := range slices.Backward(m.Headers) { // our own is the last
		switch h.Name {
		case "kafka_dlt-original-partition":
			if len(h.Value) == 4 && h.Value[0] < 0x80 {
				return int32(binary.BigEndian.Uint32(h.Value)), true
			}
		case headerPartition, "__connect.errors.partition", "original_partition":
			if n, err := strconv.ParseInt(string(h.Value), 10, 32); err == nil && n >= 0 {
				return int32(n), true
			}
		}
	}
	return 0, false
}

// A run is sent together, as one batch for each partition: below the default limit of a topic, 1 MiB. A larger message
// is its own run. The next run waits for the answers, so that a failure can hold back its key.
const (
	runMessages = 1000
	runBytes    = 900_000
	// settling is how long the client may take, after the time of a message, to name unwritten records.
	settling = 500 * time.Millisecond
)

type sending struct {
	conn     *conn
	to       destination
	parts    int
	messages []driver.Message
	limits   driver.Limits
	p        *producer
	held     map[string]bool // keys with an unsent message
	lifetime lifetime
	began    time.Time

	mu    sync.Mutex
	errs  []error
	ended bool // later answers do not count
}

var errUnanswered = errors.New("there is no answer yet")

// Send implements driver.Driver. A run begins as a whole.
func (c *conn) Send(ctx context.Context, target string, messages []driver.Message, limits driver.Limits) []error {
	if len(messages) == 0 {
		return nil
	}
	to, err := parse(target)
	if err != nil {
		return driver.Fail(len(messages), err)
	}
	of, err := c.known(ctx, to.topic, limits)
	if err != nil {
		return driver.Fail(len(messages), unwritten(err))
	}
	p, err := c.producer(&of)
	if err != nil {
		return driver.Fail(len(messages), err)
	}
	s := &sending{conn: c, to: to, parts: len(of.Partitions), messages: messages, limits: limits, p: p,
		held: map[string]bool{}, errs: make([]error, len(messages)), began: time.Now()}
	if slices.ContainsFunc(messages, timed) {
		s.lifetime = c.lifetime(ctx, to.topic, s.began)
	}
	for from := 0; from < len(messages); {
		from = s.run(ctx, from)
	}
	if s.p != nil {
		c.rest(s.p)
	}
	return s.errs
}

func (c *conn) known(ctx context.Context, topic string, limits driver.Limits) (kadm.TopicDetail, error) {
	if !limits.Until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, limits.Until)
		defer cancel()
	}
	ctx, cancel := limits.Message(ctx)
	defer cancel()
	return c.topic(ctx, topic)
}

// unwritten is an error after which certainly nothing was written.
func unwritten(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: the cluster does not answer", driver.ErrUntried)
	}
	return err
}

func (s *sending) run(ctx context.Context, from int) (next int) {
	var batch []int
	size := 0
	for next = from; next < len(s.messages) && len(batch) < runMessages; next++ {
		m := &s.messages[next]
		n := m.Size() + 64 + 8*len(m.Headers)
		if len(batch) > 0 && size+n > runBytes {
			break
		}
		if s.ready(ctx, next) {
			batch = append(batch, next)
			size += n
		}
	}
	if len(batch) == 0 || !s.produce(ctx, batch) {
		return next
	}
	if len(batch) > 1 {
		s.isolate(ctx, batch)
	}
	for _, i := range batch {
		if err := s.errs[i]; err != nil && !driver.Permanent(err) && s.messages[i].Key != nil {
			s.held[string(s.messages[i].Key)] = true
		}
	}
	return next
}

func (s *sending) ready(ctx context.Context, i int) bool {
	m := &s.messages[i]
	switch {
	case s.p == nil, ctx.Err() != nil, s.limits.Over():
		s.errs[i] = driver.ErrUntried
	case m.Key != nil && s.held[string(m.Key)]:
		s.errs[i] = driver.ErrBehind
	default:
		return true
	}
	return false
}

// isolate sends the messages of a refused batch one by one, since one of them caused the refusal.
func (s *sending) isolate(ctx context.Context, batch []int) {
	for _, i := range batch {
		if err := s.errs[i]; errors.Is(err, kerr.MessageTooLarge) || errors.Is(err, kerr.RecordListTooLarge) ||
			errors.Is(err, kerr.InvalidTimestamp) || errors.Is(err, kerr.InvalidRecord) {
			if !s.ready(ctx, i) {
				continue
			}
			s.produce(ctx, []int{i})
		}
	}
}

// produce sends messages and awaits the answers. At the end of their time, or of ctx, it returns false.
func (s *sending) produce(ctx context.Context, batch []int) bool {
	for _, i := range batch {
		s.errs[i] = errUnanswered
	}
	s.p.fresh()
	each, cancel := s.limits.Message(ctx)
	defer cancel()
	for _, i := range batch {
		at, err := s.to.of(&s.messages[i], s.parts)
		if err != nil {
			s.errs[i] = err
			continue
		}
		r := record(s.to.topic, at, &s.messages[i])
		renewed(r, s.lifetime, s.began)
		// At the end of its time the client drops an unwritten or refused record.
		s.p.client.Produce(each, r, func(_ *kgo.Record, err error) { s.answer(i, err) })
	}
	bounded, stop := context.WithTimeout(ctx, s.limits.Time()+settling)
	defer stop()
	if err := s.p.client.Flush(bounded); err != nil {
		s.abandon(batch, err)
		return false
	}
	return true
}

func (s *sending) answer(i int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.errs[i] = s.outcome(err)
}

// outcome classifies the end of all tries. Only a missing answer may have stored the message.
func (s *sending) outcome(err error) error {
	if err == nil {
		return nil
	}
	var refusal *kerr.Error
	wrote := s.p.wrote.Load()
	switch {
	case s.conn.ended.Err() != nil && !wrote:
		return driver.ErrClosed
	case wrote && (s.p.cut.Load() || errors.Is(err, kgo.ErrClientClosed) ||
		errors.As(err, &refusal) && slices.Contains(doubtful, refusal)):
		return fmt.Errorf("%w: %w", driver.ErrUncertain, err)
	}
	return unwritten(classify(err))
}

var doubtful = []*kerr.Error{kerr.RequestTimedOut, kerr.NotEnoughReplicasAfterAppend, kerr.OutOfOrderSequenceNumber,
	kerr.DuplicateSequenceNumber, kerr.UnknownProducerID, kerr.InvalidProducerEpoch, kerr.UnknownServerError}

// abandon closes the producer after a failed wait. Written messages may have been stored.
func (s *sending) abandon(batch []int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, i := range batch {
		switch {
		case !errors.Is(s.errs[i], errUnanswered):
		case s.p.wrote.Load():
			s.errs[i] = fmt.Errorf("%w: %w", driver.ErrUncertain, err)
		default:
			s.errs[i] = unwritten(err)
		}
	}
	s.conn.closing.Go(s.p.client.Close)
	s.p = nil
}
