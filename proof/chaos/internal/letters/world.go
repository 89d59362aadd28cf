package letters

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/kit/clock"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/proof/crashtest/account"
)

// world is the outside of Tasker: dying messages, and their consumer.
type world struct {
	kind   *kind
	queues queues
	server func() string // URL of Redis, past all links

	mu         sync.Mutex
	rng        *rand.Rand
	healthy    bool
	messages   []message // number 1 is the first
	read       []found   // of the list orders, at present
	last       string    // ID of the last entry read of orders, unless that is a list
	deliveries []delivery
	died       map[account.Send]bool // sends whose message has died again, except those of lists, whose messages do not say
}

type message struct {
	sure bool // confirmed by the broker; else uncertain
	lost bool // FLUSHALL deleted it, perhaps before it was a letter
	at   time.Time
	// returns counts further deaths, maybe the possible ones.
	returns, maybe int
}

type delivery struct {
	message         int
	key             string // of Kafka
	letter, redrive string // the headers; a list has none
	replays         int
}

func (d delivery) send() account.Send { return account.SendOf(d.redrive, d.letter, d.replays) }

// newWorld makes a world around a Redis, or around another broker's queues.
func newWorld(k *kind, server func() string, others queues, rng *rand.Rand) *world {
	w := &world{kind: k, queues: &redis{k, server}, server: server, rng: rng, died: map[account.Send]bool{}}
	if others != nil {
		w.queues = others
	}
	return w
}

func (k *kind) failure(n int) string {
	if k == topics {
		return envelope(n)
	}
	return fmt.Sprintf(`{"original_job":{"order":%d},"error":"no answer from shard %d","attempt_count":3,`+
		`"first_failed_at":"2026-01-15T10:30:01+00:00","last_failed_at":"2026-01-15T10:30:15+00:00",`+
		`"queue_name":"%s","error_type":"TimeoutError"}`, n, n%5, orders)
}

// queueOf: a third of the messages is for the policy.
func queueOf(n int) string {
	if n%3 == 0 {
		return deadOfPolicy
	}
	return dead
}

// die lets n messages die for the first time.
func (w *world) die(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	batches, of := map[string][]entry{}, map[string][]int{}
	for range n {
		w.messages = append(w.messages, message{at: time.Now()})
		no := len(w.messages)
		batches[queueOf(no)] = append(batches[queueOf(no)], entry{key: keyOf(no), payload: w.kind.failure(no)})
		of[queueOf(no)] = append(of[queueOf(no)], no)
	}
	for queue, batch := range batches {
		if w.queues.push(queue, batch) == nil {
			for _, no := range of[queue] {
				w.messages[no-1].sure = true
			}
		}
	}
}

func (w *world) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.healthy = true
}

// consume reads redriven messages until ctx ends; some die again immediately.
func (w *world) consume(ctx context.Context) {
	for clock.Sleep(ctx, 40*time.Millisecond) == nil {
		_ = w.look() // Redis may be down
	}
}

// look reads new entries of orders. It removes none, so a lost answer loses nothing.
func (w *world) look() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	news, err := w.queues.from(len(w.read), w.last)
	if err != nil {
		return err
	}
	w.process(news)
	return nil
}

// The caller of process holds w.mu.
func (w *world) process(news []found) {
	again, sends := map[string][]entry{}, map[string][]account.Send{}
	for _, f := range news {
		w.read, w.last = append(w.read, f), f.id
		d := delivery{message: order(f.payload), key: f.key}
		for i := 0; i+1 < len(f.headers); i += 2 {
			switch f.headers[i] {
			case deadletter.HeaderLetter:
				d.letter = f.headers[i+1]
			case deadletter.HeaderRedrive:
				d.redrive = f.headers[i+1]
			case deadletter.HeaderReplays:
				d.replays, _ = strconv.Atoi(f.headers[i+1]) // 0 is found to be wrong
			}
		}
		w.deliveries = append(w.deliveries, d)
		if !w.healthy && d.message > 0 && d.message <= len(w.messages) && w.rng.IntN(4) == 0 {
			queue := queueOf(d.message)
			again[queue] = append(again[queue], entry{f.key, w.kind.failure(d.message), f.headers})
			sends[queue] = append(sends[queue], d.send())
		}
	}
	for queue, batch := range again {
		err := w.queues.push(queue, batch)
		for i, e := range batch {
			m, of := &w.messages[order(e.payload)-1], sends[queue][i]
			m.maybe++
			// A send with an unknown outcome may come twice, as one return.
			if err == nil && !w.died[of] {
				m.returns++
				w.died[of] = of.Letter != ""
			}
		}
	}
}

// flush empties Redis, and records the loss.
func (w *world) flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	out, err := w.kind.flush(w.server())
	if err != nil {
		return err
	}
	before := len(w.read)
	if w.kind == streams { // by ID
		before = 0
		for before < len(out.unread) && w.last != "" && !laterID(out.unread[before].id, w.last) {
			before++
		}
	}
	w.process(out.unread[before:])
	w.read, w.last = nil, ""
	for _, payload := range out.lost {
		m := &w.messages[order(payload)-1]
		m.lost = true
	}
	return nil
}

// laterID compares IDs of entries of a stream.
func laterID(a, b string) bool {
	parse := func(id string) (ms, no int64) {
		_, _ = fmt.Sscanf(id, "%d-%d", &ms, &no)
		return ms, no
	}
	ams, ano := parse(a)
	bms, bno := parse(b)
	return ams > bms || ams == bms && ano > bno
}

func (w *world) replace(master func() error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := master(); err != nil {
		return err
	}
	now, err := w.queues.from(0, "")
	if err != nil {
		return err
	}
	known := map[string]bool{}
	same := 0
	for i, f := range w.read {
		known[f.id] = true
		if i < len(now) && i == same && now[i].payload == f.payload {
			same++
		}
	}
	w.read, w.last = nil, ""
	var news []found
	for i, f := range now {
		if w.kind == lists && i >= same || w.kind == streams && !known[f.id] {
			news = append(news, f)
		} else {
			w.read, w.last = append(w.read, f), f.id
		}
	}
	w.process(news)
	return nil
}

// sure counts messages that are confirmed and not lost.
func (w *world) sure() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, m := range w.messages {
		if m.sure && !m.lost {
			n++
		}
	}
	return n
}

// waiting describes messages in the broker; "" for none.
func (w *world) waiting() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, queue := range []string{dead, deadOfPolicy} {
		n, err := w.queues.waiting(queue)
		if err != nil {
			return err.Error()
		}
		if n > 0 {
			return fmt.Sprintf("%d messages wait in %s", n, queue)
		}
	}
	return ""
}
