package rabbitmq

import (
	"sync"

	"github.com/rabbitmq/amqp091-go"
)

type answer uint8

const (
	open    answer = iota // none yet
	ack                   // done
	release               // back to the queue
	reject                // becomes a dead letter
	sent                  // RabbitMQ has the answer
)

// answers sends the answers to the deliveries of one channel. Giving an answer never blocks: run sends them, and
// acknowledges consecutive deliveries in one frame. The delivery tags of a channel with one consumer are consecutive.
type answers struct {
	channel *amqp091.Channel
	wake    chan struct{}

	mu    sync.Mutex
	first uint64        // tag of the first entry of list
	list  []answer      // by tag
	idle  chan struct{} // of settled; closed when list is empty
}

func newAnswers(channel *amqp091.Channel) *answers {
	return &answers{channel: channel, wake: make(chan struct{}, 1), first: 1}
}

// expect notes a delivery, and returns the function that answers it.
func (a *answers) expect(tag uint64) func(answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, open)
	return func(how answer) {
		a.mu.Lock()
		if i := int(tag - a.first); tag >= a.first && a.list[i] == open {
			a.list[i] = how
		}
		a.mu.Unlock()
		select {
		case a.wake <- struct{}{}:
		default:
		}
	}
}

// settled returns a channel that is closed when RabbitMQ has the answers to every delivery so far.
func (a *answers) settled() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	idle := make(chan struct{})
	a.idle = idle
	a.checkIdle()
	return idle
}

// checkIdle closes idle when nothing is open. The caller holds mu.
func (a *answers) checkIdle() {
	if a.idle != nil && len(a.list) == 0 {
		close(a.idle)
		a.idle = nil
	}
}

// run sends answers until ended is closed or the connection fails; then the remaining answers are void.
func (a *answers) run(ended <-chan struct{}) {
	for {
		select {
		case <-a.wake:
			if a.send() != nil {
				return // the connection is lost, as the consumer learns too
			}
		case <-ended:
			return
		}
	}
}

func (a *answers) send() error {
	upTo, others := a.take()
	if upTo > 0 {
		if err := a.channel.Ack(upTo, true); err != nil {
			return err
		}
	}
	for tag, how := range others {
		var err error
		switch how {
		case ack:
			err = a.channel.Ack(tag, false)
		case release:
			err = a.channel.Nack(tag, false, true)
		case reject:
			err = a.channel.Reject(tag, false)
		}
		if err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.list) > 0 && a.list[0] == sent {
		a.list, a.first = a.list[1:], a.first+1
	}
	a.checkIdle()
	return nil
}

// take returns the tag up to which everything is to be acknowledged, or 0, and the other answers. It marks them as
// sent.
func (a *answers) take() (upTo uint64, others map[uint64]answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	prefix := true
	for i, how := range a.list {
		tag := a.first + uint64(i)
		switch {
		case how == open:
			prefix = false
			continue
		case how == sent:
			continue
		case how == ack && prefix:
			upTo = tag
		default:
			if others == nil {
				others = make(map[uint64]answer)
			}
			others[tag] = how
			prefix = false
		}
		a.list[i] = sent
	}
	return upTo, others
}
