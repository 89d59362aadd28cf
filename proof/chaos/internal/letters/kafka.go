package letters

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
	"github.com/taskerhq/tasker/internal/testkit/process"
	"github.com/taskerhq/tasker/internal/testkit/testserver"
	"github.com/taskerhq/tasker/proof/chaos/internal/cluster"
)

var topics = &kind{driver: "kafka", format: "dlq_envelope", blind: true, stages: stagesOfKafka}

// stagesOfKafka are the events of a tap.
var stagesOfKafka = map[string]string{"joined": joined, "taken": fetched, "acknowledged": committed, "sent": produced,
	"confirmed": answered}

const partitions = 3

// keyOf is the key of a message. The order within a key is kept.
func keyOf(n int) string { return "key-" + strconv.Itoa(n%8) }

// envelope is a dead message in the form of package kafka.
func envelope(n int) string {
	return fmt.Sprintf(`{"event_id":"event-%d","event_type":"dlq.message","event":{"order":%d},"original_topic":"%s",`+
		`"error":"no answer from shard %d","error_type":"TimeoutError","retry_count":2,`+
		`"failed_at":"2026-01-15T10:30:15+00:00","producer_id":"host-1","status":"pending","event_key":"%s"}`,
		n, n, orders, n%5, keyOf(n))
}

// kafka is the topics of a Kafka. Nothing is removed from orders, so its records are read by their positions.
type kafka struct {
	server   *kafkatest.Server
	admin    *kgo.Client
	producer *kgo.Client // nil: none
	reader   *kgo.Client // of orders; nil: none
	at       positions   // of reader
}

// positions are the next offset of each partition.
type positions [partitions]int64

func (p positions) String() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint([partitions]int64(p)), " ", ","), "[]")
}

// before reports whether a partition is not read to its end.
func (p positions) before(ends positions) bool {
	for n, end := range ends {
		if p[n] < end {
			return true
		}
	}
	return false
}

// parsePositions reads an ID; "" is the beginning.
func parsePositions(id string) (p positions, err error) {
	if id == "" {
		return p, nil
	}
	parts := strings.Split(id, ",")
	if len(parts) != partitions {
		return p, fmt.Errorf("%q is no ID of an entry", id)
	}
	for i, part := range parts {
		if p[i], err = strconv.ParseInt(part, 10, 64); err != nil {
			return p, err
		}
	}
	return p, nil
}

// launchKafka starts a Kafka whose second listener is advertised under a link's address. The caller closes b, also
// after an error. tell gets what passes the link.
func launchKafka(ctx context.Context, b *brokers, tell func(string), log io.Writer) error {
	if err := kafkatest.Fetch(log); err != nil {
		return err
	}
	port, err := testserver.FreePort()
	if err != nil {
		return err
	}
	addresses, err := process.Addresses(1)
	if err != nil {
		return err
	}
	behind := kafkatest.Listener{Name: "LINK", Protocol: "PLAINTEXT", Port: port, Advertised: addresses[0]}
	if b.kafka, err = kafkatest.Launch(nil, behind); err != nil {
		return err
	}
	if b.tap, err = newTap(fmt.Sprintf("127.0.0.1:%d", port), tell, signsOfKafka); err != nil {
		return err
	}
	if b.link, err = cluster.NewLink(addresses[0], b.tap.listener.Addr().String()); err != nil {
		return err
	}
	queues, err := openKafka(ctx, b.kafka)
	if err == nil {
		b.queues = queues
	}
	return err
}

func openKafka(ctx context.Context, server *kafkatest.Server) (*kafka, error) {
	k := &kafka{server: server}
	var err error
	if k.admin, err = k.client(); err != nil {
		return nil, err
	}
	names := []string{dead, deadOfPolicy, deadUntouched, orders}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	admin := kadm.NewClient(k.admin)
	made, err := admin.CreateTopics(ctx, partitions, -1, nil, names...)
	if err = errors.Join(err, made.Error()); err != nil {
		k.close()
		return nil, fmt.Errorf("create the topics: %w", err)
	}
	for { // the broker learns of them a moment after the controller
		ends, err := admin.ListEndOffsets(ctx, names...)
		if err == nil && ends.Error() == nil && len(ends.Offsets()) == len(names) {
			return k, nil
		}
		if clock.Sleep(ctx, 20*time.Millisecond) != nil {
			k.close()
			return nil, fmt.Errorf("the topics do not appear: %w", errors.Join(err, ends.Error()))
		}
	}
}

// client returns a client that bypasses all links.
func (k *kafka) client(options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(k.server.Address()), kgo.RetryTimeout(answers),
		kgo.RequestTimeoutOverhead(answers), kgo.MetadataMinAge(50 * time.Millisecond)}, options...)...)
}

// drop abandons a client. Its requests in flight fail, with or without an effect.
func drop(client **kgo.Client) {
	if *client != nil {
		go (*client).Close() // a frozen broker must not block it
		*client = nil
	}
}

func (k *kafka) close() {
	drop(&k.admin)
	drop(&k.producer)
	drop(&k.reader)
}

func (k *kafka) push(queue string, entries []entry) error {
	if k.producer == nil {
		var err error
		if k.producer, err = k.client(kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ManualFlushing()); err != nil {
			return err
		}
	}
	failed := make(chan error, len(entries))
	for _, e := range entries {
		r := &kgo.Record{Topic: queue, Key: []byte(e.key), Value: []byte(e.payload)}
		for i := 0; i+1 < len(e.headers); i += 2 {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: e.headers[i], Value: []byte(e.headers[i+1])})
		}
		k.producer.Produce(context.Background(), r, func(_ *kgo.Record, err error) { failed <- err })
	}
	ctx, cancel := context.WithTimeout(context.Background(), answers)
	defer cancel()
	err := k.producer.Flush(ctx)
	for range entries {
		if err == nil { // after Flush all of them are there
			err = <-failed
		}
	}
	if err != nil {
		drop(&k.producer)
	}
	return err
}

func (k *kafka) from(_ int, id string) ([]found, error) {
	at, err := parsePositions(id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), answers)
	defer cancel()
	ends, err := k.ends(ctx, orders)
	if err != nil || ends == at {
		return nil, err
	}
	if k.reader == nil || k.at != at {
		drop(&k.reader)
		begin := map[int32]kgo.Offset{}
		for n, next := range at {
			begin[int32(n)] = kgo.NewOffset().At(next)
		}
		k.reader, err = k.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{orders: begin}))
		if err != nil {
			return nil, err
		}
	}
	var out []found
	for at.before(ends) {
		fetches := k.reader.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			drop(&k.reader) // all of it is read again
			return nil, err
		}
		for _, r := range fetches.Records() {
			at[r.Partition] = r.Offset + 1
			f := found{id: at.String(), entry: entry{key: string(r.Key), payload: string(r.Value)}}
			for _, h := range r.Headers {
				f.headers = append(f.headers, h.Key, string(h.Value))
			}
			out = append(out, f)
		}
	}
	k.at = at
	return out, nil
}

func (k *kafka) ends(ctx context.Context, topic string) (p positions, err error) {
	list, err := kadm.NewClient(k.admin).ListEndOffsets(ctx, topic)
	if err = errors.Join(err, list.Error()); err != nil {
		return p, err
	}
	for n := range p {
		end, ok := list.Lookup(topic, int32(n))
		if !ok {
			return p, fmt.Errorf("nothing is known of %s/%d", topic, n)
		}
		p[n] = end.Offset
	}
	return p, nil
}

func (k *kafka) waiting(queue string) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answers)
	defer cancel()
	ends, err := k.ends(ctx, queue)
	if err != nil {
		return 0, err
	}
	read, err := kadm.NewClient(k.admin).FetchOffsetsForTopics(ctx, "tasker-"+queue, queue)
	if err = errors.Join(err, read.Error()); err != nil {
		return 0, err
	}
	n := 0
	for i, end := range ends {
		next := int64(0)
		if o, ok := read.Lookup(queue, int32(i)); ok {
			next = max(o.At, 0)
		}
		n += int(end - next)
	}
	return n, nil
}

// parametersOfKafka make the group notice soon that a node is gone.
func parametersOfKafka() url.Values {
	return url.Values{"session": {"2"}, "connection_timeout": {"2000"}}
}
