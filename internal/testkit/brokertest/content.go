package brokertest

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

var contentTests = map[string]func(*testing.T, *Broker){
	"BytesSurvive":        bytesSurvive,
	"LargeMessages":       largeMessages,
	"TooLarge":            tooLarge,
	"MissingDestination":  missingDestination,
	"MissingQueue":        missingQueue,
	"PositionsIdentify":   positionsIdentify,
	"TimesAreNow":         timesAreNow,
	"NothingIsSent":       nothingIsSent,
	"SecretsStayHidden":   secretsStayHidden,
	"DepthCounts":         depthCounts,
	"PeekLeavesInPlace":   peekLeavesInPlace,
	"SenderKeepsItsBytes": senderKeepsItsBytes,
}

func allBytes() []byte {
	out := make([]byte, 256)
	for i := range out {
		out[i] = byte(i)
	}
	return out
}

// bytesSurvive: key, headers, payload and ID arrive byte for byte; an empty value is not a missing one.
func bytesSurvive(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	// Names out of order; values empty, binary, and in other scripts.
	headers := []deadletter.Header{{Name: "b", Value: allBytes()}, {Name: "a", Value: []byte{}},
		{Name: "nul", Value: []byte{0}}, {Name: "text", Value: []byte("ä☃")}, {Name: "bad", Value: []byte{0xff, 0xfe}}}
	want := []driver.Message{
		{Payload: []byte{}},
		{Payload: []byte{0}, Key: []byte("k"), MessageID: "one"},
		{Payload: allBytes(), Key: allBytes(), Headers: headers, MessageID: strings.Repeat("x", 200)},
		{Payload: []byte("\xff\xfe not UTF-8 \x00 end"), Headers: headers[:1]},
		{Payload: []byte(`{"json": true}`), Key: []byte{0}},
	}
	Send(t, d, queue, want...)
	r := Receiver(t, d, queue)
	got := b.receive(t, r, len(want))
	for i := range want {
		b.sameContent(t, i, &got[i], &want[i])
		if got[i].Origin != queue {
			t.Errorf("message %d has the origin %q, want %q", i, got[i].Origin, queue)
		}
	}
	Ack(t, r, got)
}

// sameContent compares the sender's parts, except those that the broker cannot carry. The order of headers with
// different names does not count.
func (b *Broker) sameContent(t *testing.T, i int, got, want *driver.Message) {
	t.Helper()
	if !bytes.Equal(got.Payload, want.Payload) {
		t.Errorf("message %d has the payload %.300q, want %.300q", i, got.Payload, want.Payload)
	}
	if !b.NoKeys && (!bytes.Equal(got.Key, want.Key) || (got.Key == nil) != (want.Key == nil)) {
		t.Errorf("message %d has the key %q (none: %t), want %q (none: %t)", i, got.Key, got.Key == nil, want.Key,
			want.Key == nil)
	}
	if !b.NoMessageIDs && got.MessageID != want.MessageID {
		t.Errorf("message %d has the ID %q, want %q", i, got.MessageID, want.MessageID)
	}
	if b.NoHeaders {
		return
	}
	headers := slices.DeleteFunc(slices.Clone(got.Headers), func(h deadletter.Header) bool {
		return b.Own != "" && strings.HasPrefix(h.Name, b.Own)
	})
	same := func(a, b deadletter.Header) bool { return a.Name == b.Name && bytes.Equal(a.Value, b.Value) }
	byName := func(a, b deadletter.Header) int { return strings.Compare(a.Name, b.Name) }
	if !slices.EqualFunc(slices.SortedStableFunc(slices.Values(headers), byName),
		slices.SortedStableFunc(slices.Values(want.Headers), byName), same) {
		t.Errorf("message %d has the headers %q, want %q", i, got.Headers, want.Headers)
	}
}

// largeMessages: a message near the limit of a letter's payload passes, to the receiver and back.
func largeMessages(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	var want []driver.Message
	for i := range 3 {
		payload := bytes.Repeat(allBytes(), b.MaxPayload/256)
		// Different messages, to find a driver that mixes them up.
		payload[0] = byte(i)
		want = append(want, driver.Message{Payload: payload})
	}
	for i := range want {
		Send(t, d, queue, want[i])
	}
	r := Receiver(t, d, queue)
	got := b.receive(t, r, len(want))
	for i := range want {
		b.sameContent(t, i, &got[i], &want[i])
	}
	Ack(t, r, got)
	back := b.NewQueue(t)
	Send(t, d, back, got[0])
	again := b.receive(t, Receiver(t, d, back), 1)
	b.sameContent(t, 0, &again[0], &want[0])
}

// tooLarge: a refused message does not affect its neighbours, and the error has the reason.
func tooLarge(t *testing.T, b *Broker) {
	if b.TooLarge == 0 {
		t.Skip("Broker.TooLarge is 0: the broker takes messages of any size")
	}
	d, queue := b.connect(t), b.NewQueue(t)
	errs := d.Send(t.Context(), queue, []driver.Message{{Payload: []byte("a")},
		{Payload: make([]byte, b.TooLarge)}, {Payload: []byte("b")}}, driver.Limits{})
	if len(errs) != 3 || errs[0] != nil || errs[2] != nil || !errors.Is(errs[1], driver.ErrTooLarge) {
		t.Fatalf("Send returned %v, want only the second message to be too large", errs)
	}
	if got := payloads(b.receive(t, Receiver(t, d, queue), 2)); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("received %q", got)
	}
}

// missingDestination: sending never creates a queue; a misspelt destination of a redrive would swallow its letters.
func missingDestination(t *testing.T, b *Broker) {
	if b.NoMissing {
		t.Skip("Broker.NoMissing: any name is a queue")
	}
	d, queue := b.connect(t), b.NewQueue(t)
	errs := d.Send(t.Context(), b.Missing, b.numbered(2), driver.Limits{})
	if len(errs) != 2 || !errors.Is(errs[0], driver.ErrNotFound) || !errors.Is(errs[1], driver.ErrNotFound) {
		t.Fatalf("Send to a missing queue returned %v", errs)
	}
	if exists, _, err := d.Stat(t.Context(), b.Missing); err != nil || exists {
		t.Fatalf("the missing queue exists (%t, %v): Send created it", exists, err)
	}
	Send(t, d, queue, b.numbered(1)...) // the connection still serves others
	Ack(t, Receiver(t, d, queue), nil)
}

// missingQueue: receiving from a missing queue is an immediate error, and creates none.
func missingQueue(t *testing.T, b *Broker) {
	if b.NoMissing {
		t.Skip("Broker.NoMissing: any name is a queue")
	}
	d := b.connect(t)
	if r, err := d.Open(t.Context(), b.Missing); err == nil {
		_ = r.Close()
		t.Fatal("a missing queue can be opened")
	} else if !errors.Is(err, driver.ErrNotFound) {
		t.Fatalf("Open returned %v, want one that wraps ErrNotFound", err)
	}
	if exists, _, err := d.Stat(t.Context(), b.Missing); err != nil || exists {
		t.Fatalf("Stat of a missing queue returned %t, %v", exists, err)
	}
	Send(t, d, b.NewQueue(t), b.numbered(1)...)
}

// positionsIdentify: a position is the same at each delivery and unique. Capture recognises repeated deliveries by it.
func positionsIdentify(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	same := driver.Message{Payload: []byte("same")}
	Send(t, d, queue, same, same, same)
	r := Receiver(t, d, queue)
	// Only positions distinguish equal messages.
	first := b.receive(t, r, 3)
	closed(t, r)
	second := b.receive(t, Receiver(t, d, queue), 3)
	seen := map[string]bool{}
	for i := range first {
		if (first[i].Position == "") != (first[0].Position == "") {
			t.Fatalf("some messages have positions, others none: %q", first[i].Position)
		}
		seen[first[i].Position] = true
	}
	// Without positions, capture recognises messages differently.
	if first[0].Position == "" {
		return
	}
	if len(seen) != 3 {
		t.Fatalf("three messages have the positions %v", seen)
	}
	for i := range second {
		if !b.NewPositions && !seen[second[i].Position] {
			t.Errorf("a message has the position %q at its second delivery; the first were %v", second[i].Position, seen)
		}
	}
}

// timesAreNow: a driver reads unit and zone of a time correctly.
func timesAreNow(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	Send(t, d, queue, driver.Message{Payload: []byte("x")})
	m := b.receive(t, Receiver(t, d, queue), 1)[0]
	// An hour allows for different clocks, and finds a wrong unit or zone.
	if age := time.Since(m.Time); !m.Time.IsZero() && (age < -time.Hour || age > time.Hour) {
		t.Fatalf("the message was sent at %v", m.Time)
	}
}

// nothingIsSent: empty lists succeed.
func nothingIsSent(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	if errs := d.Send(t.Context(), queue, nil, driver.Limits{}); len(errs) != 0 {
		t.Fatalf("Send of nothing returned %v", errs)
	}
	r := Receiver(t, d, queue)
	Ack(t, r, nil)
	if err := r.Release(t.Context(), nil); err != nil {
		t.Fatalf("release of nothing: %v", err)
	}
}

// secretsStayHidden: no error shows a password or a token of the URL; errors are stored and shown to operators.
func secretsStayHidden(t *testing.T, b *Broker) {
	scheme, _, _ := strings.Cut(b.URL, "://")
	const secret = "hunter2-very-secret"
	// Port 1 refuses connections. The secret is in both places where drivers take one.
	url := scheme + "://someone:" + secret + "@127.0.0.1:1/0?token=" + secret
	d, err := driver.Registry{"tested": b.Open}.Open(t.Context(), "tested", url)
	if err == nil { // it connects later, or needs no server
		_, err = d.Open(t.Context(), b.Missing)
		closed(t, d)
	}
	if err == nil {
		t.Fatal("a broker that does not exist can be used")
	}
	if strings.Contains(err.Error(), secret) {
		t.Fatalf("the error shows the secret: %v", err)
	}
}

// depthCounts: Stat counts waiting messages, or returns -1.
func depthCounts(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	want := func(n int64) {
		t.Helper()
		deadline := time.Now().Add(b.Patience) // some brokers count late
		for {
			exists, depth, err := d.Stat(t.Context(), queue)
			if err != nil || !exists {
				t.Fatalf("Stat returned %t, %v", exists, err)
			}
			if depth == n || depth == -1 {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the depth is %d, want %d", depth, n)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	want(0)
	Send(t, d, queue, b.numbered(7)...)
	want(7)
	r := Receiver(t, d, queue)
	Ack(t, r, b.receive(t, r, 3))
	closed(t, r)
	want(4)
}

// peekLeavesInPlace: peeking does not deliver messages.
func peekLeavesInPlace(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	Send(t, d, queue, b.numbered(5)...)
	got, err := d.Peek(t.Context(), queue, 3)
	if errors.Is(err, driver.ErrNoPeek) {
		t.Skip("the broker shows no message without delivering it")
	}
	if err != nil || !slices.Equal(payloads(got), []string{"1", "2", "3"}) {
		t.Fatalf("Peek returned %q, %v", payloads(got), err)
	}
	if got := payloads(b.receive(t, Receiver(t, d, queue), 5)); !slices.Equal(got, []string{"1", "2", "3", "4", "5"}) {
		t.Fatalf("received %q after Peek", got)
	}
}

// senderKeepsItsBytes: a driver keeps no memory of a message after Send.
func senderKeepsItsBytes(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	payload := []byte("before")
	Send(t, d, queue, driver.Message{Payload: payload})
	copy(payload, "after!")
	if got := b.receive(t, Receiver(t, d, queue), 1); string(got[0].Payload) != "before" {
		t.Fatalf("the payload is %q: the driver kept the sender's memory", got[0].Payload)
	}
}
