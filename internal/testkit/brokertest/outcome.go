package brokertest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// outcomeTests are about unsent messages: only one that may have been stored is uncertain.
var outcomeTests = map[string]func(*testing.T, *Broker){
	"TurnIsOver":        turnIsOver,
	"RefusedForGood":    refusedForGood,
	"RefusedForAMoment": refusedForAMoment,
	"NoAnswer":          noAnswer,
	"HalfOpen":          halfOpen,
	"SlowAnswer":        slowAnswer,
	"DeletedMeanwhile":  deletedMeanwhile,
}

// turnIsOver: nothing begins after the end of the turn.
func turnIsOver(t *testing.T, b *Broker) {
	d, queue := b.connect(t), b.NewQueue(t)
	Send(t, d, queue, driver.Message{Payload: []byte("first")})
	for i, err := range d.Send(t.Context(), queue, b.numbered(3), driver.Limits{Until: time.Now()}) {
		if !errors.Is(err, driver.ErrUntried) {
			t.Errorf("message %d, whose turn is over: %v", i+1, err)
		}
	}
	Send(t, d, queue, driver.Message{Payload: []byte("last")})
	b.sameOrder(t, payloads(b.receive(t, Receiver(t, d, queue), 2)), "first", "last")
}

// refusedForGood: a forbidden send is refused for good, and nothing is stored.
func refusedForGood(t *testing.T, b *Broker) {
	if b.Forbidden == "" {
		t.Skip("Broker.Forbidden is empty: the user may send to any queue")
	}
	d := b.connect(t)
	for i, err := range d.Send(t.Context(), b.Forbidden, b.numbered(3), driver.Limits{}) {
		if !errors.Is(err, driver.ErrRefused) {
			t.Errorf("message %d: %v, want that it is refused", i+1, err)
		}
	}
	Send(t, d, b.NewQueue(t), b.numbered(1)...)
}

// refusedForAMoment: a passing refusal stores nothing, and is not for good.
func refusedForAMoment(t *testing.T, b *Broker) {
	if b.Refuse == nil {
		t.Skip("Broker.Refuse is nil: the test cannot have messages refused")
	}
	d, queue := b.connect(t), b.NewQueue(t)
	Send(t, d, queue, driver.Message{Payload: []byte("first")})
	b.Refuse(t, queue)
	errs := d.Send(t.Context(), queue, b.numbered(3), driver.Limits{})
	b.Accept(t, queue)
	for i := range 3 {
		if i >= len(errs) || errs[i] == nil || driver.Permanent(errs[i]) || errors.Is(errs[i], driver.ErrUncertain) {
			t.Errorf("message %d, which was refused for a moment: %v", i+1, errs)
		}
	}
	Send(t, b.connect(t), queue, driver.Message{Payload: []byte("last")})
	b.sameOrder(t, payloads(b.receive(t, Receiver(t, d, queue), 2)), "first", "last")
}

// between is a driver whose connections pass the broker's network.
func (b *Broker) between(t *testing.T) (driver.Driver, *Network) {
	t.Helper()
	if b.Network == nil {
		t.Skip("Broker.Network is nil: nothing is between the driver and its broker")
	}
	through := *b
	through.URL = b.NetworkURL
	t.Cleanup(b.Network.Pass) // before the driver is closed
	return through.connect(t), b.Network
}

// bulk is large enough to distinguish it from a driver's requests, and incompressible.
func bulk(name string) driver.Message {
	m := driver.Message{Payload: make([]byte, 2*question)}
	_, _ = rand.Read(m.Payload)
	copy(m.Payload, name)
	return m
}

// question bounds the requests of a driver.
const question = 64 << 10

// noAnswer: a stored message without a timely answer is uncertain.
func noAnswer(t *testing.T, b *Broker) {
	d, n := b.between(t)
	queue := b.NewQueue(t)
	Send(t, d, queue, driver.Message{Payload: []byte("first")})
	n.Hold(question)
	b.unanswered(t, d, queue)
	n.Pass()
	b.settled(t, queue)
}

// halfOpen: a silent broker confirms nothing, and blocks no caller.
func halfOpen(t *testing.T, b *Broker) {
	d, n := b.between(t)
	queue := b.NewQueue(t)
	Send(t, d, queue, driver.Message{Payload: []byte("first")})
	n.Lose(question)
	b.unanswered(t, d, queue)
	n.Pass()
	n.Cut()
	b.settled(t, queue)
}

func (b *Broker) unanswered(t *testing.T, d driver.Driver, queue string) {
	t.Helper()
	const each = time.Second
	began := time.Now()
	errs := d.Send(t.Context(), queue, []driver.Message{bulk("unknown")}, driver.Limits{Each: each})
	if len(errs) != 1 || !errors.Is(errs[0], driver.ErrUncertain) {
		t.Errorf("a message without an answer: %v", errs)
	}
	if took := time.Since(began); took < each || took > each+20*time.Second {
		t.Errorf("that was said after %v", took)
	}
}

// settled checks that a new connection serves a queue after one message with an unknown outcome.
func (b *Broker) settled(t *testing.T, queue string) {
	t.Helper()
	d := b.connect(t)
	Send(t, d, queue, driver.Message{Payload: []byte("last")})
	r := Receiver(t, d, queue)
	got := payloads(b.receive(t, r, 2))
	if len(got[1]) > len("unknown") {
		got = append(got[:1], payloads(b.receive(t, r, 1))...)
	}
	b.sameOrder(t, got, "first", "last")
}

// slowAnswer: an answer after the end of the turn, but in the time of the message, counts.
func slowAnswer(t *testing.T, b *Broker) {
	d, n := b.between(t)
	queue := b.NewQueue(t)
	Send(t, d, queue, driver.Message{Payload: []byte("first")})
	held := n.Hold(question)
	turn, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	until, _ := turn.Deadline()
	answered := make(chan []error, 1)
	go func() {
		answered <- d.Send(t.Context(), queue, []driver.Message{bulk("slow")}, driver.Limits{Until: until})
	}()
	<-held
	<-turn.Done()
	select {
	case errs := <-answered:
		t.Fatalf("the message was given up at the end of the turn: %v", errs)
	default:
	}
	n.Pass()
	if errs := <-answered; len(errs) > 0 && errs[0] != nil {
		t.Errorf("a message that was confirmed late: %v", errs[0])
	}
}

// deletedMeanwhile: a queue deleted during sends refuses later messages.
func deletedMeanwhile(t *testing.T, b *Broker) {
	if b.Delete == nil {
		t.Skip("Broker.Delete is nil: the test cannot delete queues")
	}
	d, queue := b.connect(t), b.NewQueue(t)
	Send(t, d, queue, b.numbered(10)...)
	answers := make(chan []error)
	go func() {
		defer close(answers)
		for range 200 {
			errs := d.Send(t.Context(), queue, b.numbered(200), driver.Limits{})
			answers <- errs
			if slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
				return
			}
		}
	}()
	<-answers
	deleted := make(chan struct{})
	go func() {
		defer close(deleted)
		b.Delete(t, queue)
	}()
	counts := map[string]int{}
	for errs := range answers {
		for _, err := range errs {
			switch {
			case err == nil:
			case errors.Is(err, driver.ErrUncertain) && !errors.Is(err, driver.ErrLost): // RabbitMQ may end the connection
				t.Errorf("a message to a queue that is being deleted: %v", err)
			case !errors.Is(err, driver.ErrNotFound):
				counts[fmt.Sprint(err)]++
			}
		}
	}
	t.Logf("errors while it was deleted: %v", counts)
	<-deleted
	for i, err := range b.connect(t).Send(t.Context(), queue, b.numbered(300), driver.Limits{}) {
		if !errors.Is(err, driver.ErrNotFound) {
			t.Fatalf("message %d to a queue that was deleted: %v", i+1, err)
		}
	}
}
