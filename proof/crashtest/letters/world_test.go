//go:build unix

package letters_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/proof/crashtest/account"
)

// queues are for letters of operators, letters of a policy, and the consumer.
var queues = []string{"dlq", "dlq2", "orders"}

// origin is where the policy sends messages of the second queue.
var origin = deadletter.Header{Name: "kafka_dlt-original-topic", Value: []byte("orders")}

// world is the outside of Tasker: dying messages, and their consumer.
type world struct {
	bridge *bridge
	rng    *rand.Rand

	mu         sync.Mutex
	healthy    bool
	messages   int
	deliveries []delivery
	twice      int                   // deliveries of the same send
	returned   map[account.Send]bool // of which a delivery has died again
	redrives   int
}

type delivery struct {
	message int
	letter  string // of the headers
	redrive string
	replays int
}

func (d delivery) send() account.Send { return account.SendOf(d.redrive, d.letter, d.replays) }

func newWorld(b *bridge, rng *rand.Rand) *world {
	return &world{bridge: b, rng: rng, returned: map[account.Send]bool{}}
}

func (w *world) die(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	batches := map[string][]driver.Message{}
	for range n {
		w.messages++
		queue, headers := "dlq", []deadletter.Header(nil)
		if w.messages%3 == 0 {
			queue, headers = "dlq2", []deadletter.Header{origin}
		}
		batches[queue] = append(batches[queue], driver.Message{Headers: headers,
			MessageID: fmt.Sprint("m", w.messages), Key: []byte{byte(w.messages % 7)},
			Payload: fmt.Appendf(nil, `{"order":%d}`, w.messages)})
	}
	for queue, batch := range batches {
		w.send(queue, batch)
	}
}

func (w *world) send(queue string, batch []driver.Message) {
	d, err := w.bridge.Broker.Open(context.Background(), "")
	if err == nil {
		err = errors.Join(d.Send(context.Background(), queue, batch, driver.Limits{})...)
		d.Close()
	}
	if err != nil {
		panic(err)
	}
}

func (w *world) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.healthy = true
}

func (w *world) died() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.messages
}

// waiting describes messages on the broker; "" for none.
func (w *world) waiting(ctx context.Context) string {
	d, err := w.bridge.Broker.Open(ctx, "")
	if err != nil {
		return err.Error()
	}
	defer d.Close()
	for _, queue := range queues {
		if _, depth, err := d.Stat(ctx, queue); depth > 0 || err != nil {
			return fmt.Sprintf("%d messages wait in %s", depth, queue)
		}
	}
	return ""
}

// consume processes redriven messages; some die again immediately.
func (w *world) consume(ctx context.Context) error {
	d, err := w.bridge.Broker.Open(ctx, "")
	if err != nil {
		return err
	}
	defer d.Close()
	r, err := d.Open(ctx, "orders")
	if err != nil {
		return err
	}
	for {
		batch, err := r.Receive(ctx, 100)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			w.process(batch)
			err = r.Ack(ctx, batch)
		}
		if err != nil {
			return err
		}
	}
}

func (w *world) process(batch []driver.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	again := map[string][]driver.Message{}
	for _, m := range batch {
		of := delivery{}
		for _, h := range m.Headers {
			switch h.Name {
			case deadletter.HeaderLetter:
				of.letter = string(h.Value)
			case deadletter.HeaderRedrive:
				of.redrive = string(h.Value)
			case deadletter.HeaderReplays:
				of.replays, _ = strconv.Atoi(string(h.Value)) // 0 is found to be wrong
			}
		}
		of.message = orderOf(m.Payload)
		w.deliveries = append(w.deliveries, of)
		if !w.healthy && w.rng.IntN(4) == 0 {
			w.returned[of.send()] = true
			queue, headers := "dlq", m.Headers
			if of.redrive == "" {
				queue, headers = "dlq2", append(slices.Clone(headers), origin)
			}
			again[queue] = append(again[queue], driver.Message{MessageID: m.MessageID, Key: m.Key, Payload: m.Payload,
				Headers: headers})
		}
	}
	for queue, batch := range again {
		w.send(queue, batch)
	}
}

// orderOf is the number of a message; 0 if damaged.
func orderOf(payload []byte) int {
	var body struct{ Order int }
	if json.Unmarshal(payload, &body) != nil {
		return 0
	}
	return body.Order
}

// check compares the consumer's deliveries with Tasker's reports.
func (r *run) check(ctx context.Context) error {
	letters, err := r.nodes.Letters(ctx, "")
	if err != nil {
		return err
	}
	w := r.world
	byMessage, byID := map[int][]string{}, map[string]deadletters.Letter{}
	for _, l := range letters {
		n := orderOf(l.Original.Payload)
		byMessage[n] = append(byMessage[n], fmt.Sprintf("%s (%s, died %d times, captured at %s)", l.LetterUUID, l.State,
			l.Occurrences, l.CapturedAt.Format(time.TimeOnly)))
		byID[l.LetterUUID.String()] = l
		if n < 1 || n > w.messages {
			r.Wrong("unknown", "letter %s is of the message %q", l.LetterUUID, l.Original.Payload)
		}
	}
	for n := 1; n <= w.messages; n++ {
		switch of := byMessage[n]; {
		case len(of) == 0:
			r.Wrong("lost", "message %d is no letter", n)
		case len(of) > 1:
			r.Wrong("twice in", "message %d is %d letters: %s", n, len(of), strings.Join(of, "; "))
		}
	}
	items, redrives, err := r.nodes.Items(ctx, &r.Violations)
	if err != nil {
		return err
	}
	w.redrives = redrives
	acts, err := r.nodes.Acts(ctx)
	if err != nil {
		return err
	}
	r.checkSends(items, acts, byID)
	return nil
}

func (r *run) checkSends(items map[account.Send]account.Item, acts map[string]int,
	letters map[string]deadletters.Letter,
) {
	got, replays := map[account.Send]int{}, map[string]int{}
	for _, d := range r.world.deliveries {
		at := d.send()
		if got[at]++; got[at] == 1 {
			replays[d.letter]++
		} else {
			r.world.twice++
		}
		if d.redrive == "" {
			if got[at] == 2 { // a third time is not recorded again
				if acts[d.letter]--; acts[d.letter] < 0 {
					r.Wrong("sent twice", "%+v was delivered again and is not in the audit trail", d)
				}
			}
			continue
		}
		item, ok := items[at]
		switch sent := item.Sent(); {
		case !ok || !sent:
			r.Wrong("unreported", "%+v was delivered; its item is %q: %s", d, item.State, item.Message)
		case got[at] > 1 && !item.Uncertain:
			r.Wrong("sent twice", "%+v was delivered again and is not reported as uncertain", d)
		}
	}
	for at, item := range items {
		if sent := item.Sent(); sent && got[at] == 0 {
			r.Wrong("not sent", "item %d of %s is %s and was never delivered", item.No, at.Redrive, item.State)
		} else if !sent && item.State != deadletters.ItemSkipped && item.State != deadletters.ItemPending {
			r.Wrong("undecided", "item %d of %s is %s: %s", item.No, at.Redrive, item.State, item.Message)
		}
	}
	returns := map[string]int{}
	for at := range r.world.returned {
		returns[at.Letter]++
	}
	for id, l := range letters {
		if l.Replays != replays[id] {
			r.Wrong("replays", "letter %s has %d replays, and was sent by %d redrives", id, l.Replays, replays[id])
		}
		if l.Occurrences != 1+returns[id] {
			r.Wrong("occurrences", "letter %s has died %d times, and came back from %d sends", id, l.Occurrences, returns[id])
		}
	}
}
