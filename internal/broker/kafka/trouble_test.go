package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
)

// Two members join and leave all the time. No message is acknowledged twice, and none is lost.
func TestRebalance(t *testing.T) {
	url := kafkatest.Shared(t)
	topic := kafkatest.NewTopic(t, url, 6)
	const total, batch = 20_000, 200
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var mu sync.Mutex
	counts := map[string]int{}
	read := func(rounds int) {
		r := receiver(t, open(t, url), topic)
		for range rounds {
			got, err := r.Receive(ctx, batch)
			if err != nil {
				break
			}
			if err := r.Ack(ctx, got); err != nil {
				t.Errorf("ack: %v", err)
			}
			mu.Lock()
			for _, m := range got {
				counts[string(m.Payload)]++
			}
			if len(counts) == total {
				cancel()
			}
			mu.Unlock()
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	for member := range 2 {
		wg.Go(func() {
			for ctx.Err() == nil {
				read(10 + 5*member)
			}
		})
	}
	d, messages := open(t, url), numbered(total)
	for i := 0; i < total; i += batch {
		send(t, d, topic, messages[i:i+batch]...)
	}
	wg.Wait()
	for p, n := range counts {
		if n != 1 {
			t.Errorf("message %s came %d times", p, n)
		}
	}
	if len(counts) != total {
		t.Errorf("%d messages of %d came", len(counts), total)
	}
}

// An acknowledgement of an expelled member is an error, and moves no offset.
func TestPutOut(t *testing.T) {
	n := behindProxy(t, nil)
	topic := kafkatest.NewTopic(t, n.URL(), 1)
	r := receiver(t, open(t, n.url+"?session=2"), topic)
	send(t, open(t, n.URL()), topic, numbered(4)...)
	got := receive(t, r, 4)
	ack(t, r, got[:1])
	n.Shut(true)
	admin := kafkatest.Admin(t, n.URL())
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		found, err := admin.DescribeGroups(t.Context(), "tasker-"+topic)
		if err == nil && len(found["tasker-"+topic].Members) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the group keeps its member: %v", err)
		}
	}
	n.Shut(false)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := r.Ack(ctx, got[1:]); !errors.Is(err, driver.ErrLost) {
		t.Errorf("the acknowledgement says %v, want that the connection is lost", err)
	}
	_ = r.Close()
	if again := payloads(receive(t, receiver(t, open(t, n.url), topic), 3)); again != "2 3 4" {
		t.Errorf("another member received %s", again)
	}
}

// Connections break. Confirmed messages arrive, and acknowledged ones do not come again.
func TestCut(t *testing.T) {
	n := behindProxy(t, nil)
	topic := kafkatest.NewTopic(t, n.URL(), 2)
	d := open(t, n.url+"?session=2")
	confirmed := map[string]bool{}
	for i := range 20 {
		messages := numbered(1000)[i*20 : i*20+20]
		if i%4 == 1 {
			n.Cut()
		}
		for at, err := range d.Send(t.Context(), topic, messages, driver.Limits{}) {
			if err == nil {
				confirmed[string(messages[at].Payload)] = true
			}
		}
	}
	if len(confirmed) < 200 {
		t.Fatalf("only %d messages were confirmed", len(confirmed))
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	acked := map[string]bool{}
	var r driver.Receiver
	for round := 0; len(confirmed) > 0; round++ {
		if r == nil {
			r = receiver(t, d, topic)
		}
		if round%5 == 4 {
			n.Cut()
		}
		batch, err := r.Receive(ctx, 20)
		if ctx.Err() != nil {
			t.Fatalf("%d confirmed messages did not come", len(confirmed))
		}
		if err != nil || r.Ack(ctx, batch) != nil {
			_ = r.Close()
			r = nil
			continue
		}
		for _, m := range batch {
			if acked[m.Position] {
				t.Errorf("%s came again", m.Position)
			}
			acked[m.Position] = true
			delete(confirmed, string(m.Payload))
		}
	}
}

// A silent broker blocks neither Send nor Receive forever. Unknown outcomes are reported as such, and work resumes.
func TestFrozen(t *testing.T) {
	s := kafkatest.Start(t, nil)
	topic := kafkatest.NewTopic(t, s.URL(), 1)
	d := open(t, s.URL())
	r := receiver(t, d, topic)
	send(t, d, topic, numbered(1)...)
	ack(t, r, receive(t, r, 1))
	if err := s.Freeze(); err != nil {
		t.Fatal(err)
	}
	for _, err := range d.Send(t.Context(), topic, numbered(2), driver.Limits{Each: 300 * time.Millisecond}) {
		if err == nil || driver.Permanent(err) {
			t.Errorf("a frozen broker answers %v", err)
		}
	}
	if err := fails(t, r); !errors.Is(err, driver.ErrLost) {
		t.Errorf("the receiver ends with %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Thaw(); err != nil {
		t.Fatal(err)
	}
	r = reopened(t, open(t, s.URL()), topic)
	send(t, d, topic, numbered(1)...)
	receive(t, r, 1)
}

// reopened opens a receiver of a broker that comes back. Until it leads its partitions, errors are transient.
func reopened(t *testing.T, d driver.Driver, topic string) driver.Receiver {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		r, err := d.Open(t.Context(), topic)
		if err == nil {
			t.Cleanup(func() { _ = r.Close() })
			return r
		}
		if driver.Permanent(err) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// A receiver notices that its topic is gone, or replaced by one of the same name with the same offsets.
func TestTopicDeleted(t *testing.T) {
	url := kafkatest.Shared(t)
	name := kafkatest.NewPrefix(t, url) + "topic"
	kafkatest.CreateTopic(t, url, name, 1)
	admin := kafkatest.Admin(t, url)
	d := open(t, url)
	send(t, d, name, numbered(1)...)
	r := receiver(t, d, name)
	first := receive(t, r, 1)
	ack(t, r, first)
	if _, err := admin.DeleteTopic(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if err := fails(t, r); !errors.Is(err, driver.ErrNotFound) {
		t.Errorf("the receiver ends with %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if errs := d.Send(t.Context(), name, numbered(1), driver.Limits{}); !errors.Is(errs[0], driver.ErrNotFound) {
		t.Errorf("send: %v", errs[0])
	}
	kafkatest.CreateTopic(t, url, name, 1)
	send(t, d, name, numbered(1)...)
	second := receive(t, receiver(t, open(t, url), name), 1)
	if first[0].Position == second[0].Position || !strings.HasPrefix(second[0].Position, name+"/0@0#") {
		t.Errorf("the positions are %s and %s", first[0].Position, second[0].Position)
	}
}

// New partitions are read from their beginning, even by a group that began at the end.
func TestPartitionsAdded(t *testing.T) {
	url := kafkatest.Shared(t)
	topic := kafkatest.NewTopic(t, url, 1)
	d := open(t, url+"?start=latest")
	send(t, d, topic, numbered(5)...)
	r := receiver(t, d, topic)
	group := "tasker-" + topic
	admin := kafkatest.Admin(t, url)
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) { // its beginning is committed
		at, err := admin.FetchOffsets(t.Context(), group)
		if o, ok := at.Lookup(topic, 0); err == nil && ok && o.At == 5 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the beginning is not committed")
		}
	}
	if _, err := admin.CreatePartitions(t.Context(), 2, topic); err != nil {
		t.Fatal(err)
	}
	var errs []error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if errs = d.Send(t.Context(), topic+"#2", numbered(1), driver.Limits{}); errs[0] == nil {
			break
		}
	}
	got := receive(t, r, 1)
	if !strings.HasPrefix(got[0].Position, topic+"/2@0") {
		t.Errorf("received %s", got[0].Position)
	}
}

// Messages deleted before they were read are reported once, with their number, and the next receiver continues behind
// them.
func TestRetention(t *testing.T) {
	url := kafkatest.Shared(t)
	topic := kafkatest.NewTopic(t, url, 1)
	admin := kafkatest.Admin(t, url)
	d := open(t, url)
	r := receiver(t, d, topic)
	send(t, d, topic, numbered(10)...)
	ack(t, r, receive(t, r, 2))
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	gone := kadm.Offsets{}
	gone.Add(kadm.Offset{Topic: topic, Partition: 0, At: 7})
	if answer, err := admin.DeleteRecords(t.Context(), gone); err != nil || answer.Error() != nil {
		t.Fatal(err, answer.Error())
	}
	r = receiver(t, d, topic)
	err := fails(t, r)
	if driver.Lost(err) != 5 || !strings.Contains(err.Error(), fmt.Sprintf("%s/0 were LOST", topic)) {
		t.Errorf("the receiver says %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := payloads(receive(t, receiver(t, d, topic), 3)); got != "8 9 10" {
		t.Errorf("received %s", got)
	}
}

// A too large message affects neither its neighbours nor the order of a key.
func TestTooLargeForTheTopic(t *testing.T) {
	url := kafkatest.Shared(t)
	topic := kafkatest.NewTopic(t, url, 1, "max.message.bytes", "1000", "compression.type", "uncompressed")
	d := open(t, url)
	messages := numbered(5)
	messages[2].Payload = []byte(strings.Repeat("0123456789abcdef", 200))
	for i, err := range d.Send(t.Context(), topic, messages, driver.Limits{}) {
		if (i == 2) != errors.Is(err, driver.ErrTooLarge) || i != 2 && err != nil {
			t.Errorf("message %d: %v", i, err)
		}
	}
	if got := payloads(receive(t, receiver(t, d, topic), 4)); got != "1 2 4 5" {
		t.Errorf("received %s", got)
	}
}

// A topic that refuses future timestamps refuses only that message.
func TestTimestampRefused(t *testing.T) {
	url := kafkatest.Shared(t)
	topic := kafkatest.NewTopic(t, url, 1, "message.timestamp.after.max.ms", "3600000")
	d := open(t, url)
	messages := numbered(3)
	messages[1].Headers = header("kafka-timestamp", "4000000000000")
	errs := d.Send(t.Context(), topic, messages, driver.Limits{})
	if errs[0] != nil || !errors.Is(errs[1], driver.ErrRefused) || errs[2] != nil {
		t.Errorf("send: %v", errs)
	}
}
