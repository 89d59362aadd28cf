//go:build unix

package letters_test

import (
	"context"
	"errors"
	"net"
	"net/rpc"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/memory"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// net/rpc needs exported names.

// Message is a message on the wire.
type Message struct {
	ID                          uint64 // of the delivery
	Position, Origin, MessageID string
	Key, Payload                []byte
	Headers                     []deadletter.Header
	Time                        time.Time
	Redelivered                 bool
}

type Fault struct {
	Kind int
	Text string
}

var kinds = []error{driver.ErrNotFound, driver.ErrTooLarge, driver.ErrRefused, driver.ErrUncertain, driver.ErrUntried,
	driver.ErrBehind, driver.ErrLost, driver.ErrClosed}

func faultOf(err error) (f Fault) {
	if err == nil {
		return f
	}
	f.Text = err.Error()
	for i, kind := range kinds {
		if errors.Is(err, kind) {
			f.Kind = i + 1
		}
	}
	return f
}

func (f Fault) err() error {
	switch {
	case f.Kind > 0:
		return kinds[f.Kind-1]
	case f.Text != "":
		return errors.New(f.Text)
	}
	return nil
}

// Arguments and answers of the calls.
type (
	Receive struct {
		Receiver, Max int
	}
	Received struct {
		Messages []Message
		Fault    Fault
	}
	Settle struct {
		Receiver int
		IDs      []uint64
		Release  bool
	}
	Send struct {
		Target   string
		Messages []Message
	}
	Opened struct {
		Receiver int
		Fault    Fault
	}
	Stat struct {
		Exists bool
		Depth  int64
		Fault  Fault
	}
)

// stage is a moment in the life of a message for a kill.
type stage string

const (
	received  stage = "between receive and commit"
	committed stage = "between commit and acknowledge"
	acked     stage = "after acknowledge"
	marked    stage = "between mark and send"
	halfSent  stage = "in the middle of a send"
	sentAll   stage = "between send and record"
)

var stages = []stage{received, committed, acked, marked, halfSent, sentAll}

// bridge is the test process's broker, for nodes in other processes.
type bridge struct {
	*memory.Broker
	ln net.Listener
	// at is called when a node reaches a stage, before the node can continue. It reports whether the node is alive.
	at func(node string, s stage) bool
	// redelivered counts repeated deliveries.
	redelivered atomic.Int64
}

func newBridge(noPositions bool, at func(string, stage) bool) (*bridge, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &bridge{Broker: memory.New(&memory.Options{NoPositions: noPositions}), ln: ln, at: at}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go b.serve(c)
		}
	}()
	return b, nil
}

// serve answers the calls of one connection. Its end releases unacknowledged messages.
func (b *bridge) serve(c net.Conn) {
	d, err := b.Broker.Open(context.Background(), "")
	if err != nil {
		c.Close()
		return
	}
	p := &peer{bridge: b, driver: d, receivers: map[int]driver.Receiver{}, held: map[uint64]driver.Message{}}
	s := rpc.NewServer()
	if err := s.RegisterName("Broker", p); err != nil {
		panic(err)
	}
	s.ServeConn(c)
	d.Close()
}

type peer struct {
	bridge *bridge
	driver driver.Driver

	mu        sync.Mutex
	node      string
	receivers map[int]driver.Receiver
	held      map[uint64]driver.Message // delivered, by the ID of the delivery
	last      uint64
}

var errDead = errors.New("the node is dead")

func (p *peer) reach(s stage) error {
	p.mu.Lock()
	node := p.node
	p.mu.Unlock()
	if !p.bridge.at(node, s) {
		return errDead
	}
	return nil
}

func (p *peer) Hello(node string, _ *bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.node = node
	return nil
}

func (p *peer) Open(queue string, reply *Opened) error {
	r, err := p.driver.Open(context.Background(), queue)
	reply.Fault = faultOf(err)
	if err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		reply.Receiver = len(p.receivers) + 1
		p.receivers[reply.Receiver] = r
	}
	return nil
}

func (p *peer) receiver(no int) driver.Receiver {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.receivers[no]
}

// Receive answers after a short time, even without messages: a call cannot be cancelled.
func (p *peer) Receive(args Receive, reply *Received) error {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	got, err := p.receiver(args.Receiver).Receive(ctx, args.Max)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	reply.Fault = faultOf(err)
	p.mu.Lock()
	for _, m := range got {
		p.last++
		p.held[p.last] = m
		if m.Redelivered {
			p.bridge.redelivered.Add(1)
		}
		reply.Messages = append(reply.Messages, Message{ID: p.last, Position: m.Position, Origin: m.Origin,
			MessageID: m.MessageID, Key: m.Key, Payload: m.Payload, Headers: m.Headers, Time: m.Time,
			Redelivered: m.Redelivered})
	}
	p.mu.Unlock()
	if len(got) == 0 {
		return nil
	}
	return p.reach(received)
}

func (p *peer) Settle(args Settle, reply *Fault) error {
	var messages []driver.Message
	p.mu.Lock()
	for _, id := range args.IDs {
		messages = append(messages, p.held[id])
		delete(p.held, id)
	}
	p.mu.Unlock()
	if args.Release {
		*reply = faultOf(p.receiver(args.Receiver).Release(context.Background(), messages))
		return nil
	}
	if err := p.reach(committed); err != nil {
		return err
	}
	*reply = faultOf(p.receiver(args.Receiver).Ack(context.Background(), messages))
	return p.reach(acked)
}

func (p *peer) Close(no int, _ *bool) error { return p.receiver(no).Close() }

func (p *peer) Send(args Send, reply *[]Fault) error {
	if err := p.reach(marked); err != nil {
		return err
	}
	messages := make([]driver.Message, len(args.Messages))
	for i, m := range args.Messages {
		messages[i] = driver.Message{Key: m.Key, Payload: m.Payload, Headers: m.Headers, MessageID: m.MessageID}
	}
	half := len(messages) / 2
	for i, part := range [][]driver.Message{messages[:half], messages[half:]} {
		errs := p.driver.Send(context.Background(), args.Target, part, driver.Limits{})
		for k := range part {
			var f Fault
			if errs != nil {
				f = faultOf(errs[k])
			}
			*reply = append(*reply, f)
		}
		if err := p.reach([]stage{halfSent, sentAll}[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *peer) Stat(queue string, reply *Stat) error {
	var err error
	reply.Exists, reply.Depth, err = p.driver.Stat(context.Background(), queue)
	reply.Fault = faultOf(err)
	return nil
}
