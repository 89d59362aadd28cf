package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// place is a queue with consumers, and the source of its dead letters, name.dlq.
type place struct {
	name   string // of the queue; its dead letters are in name.dlq
	source string
	format string
	// positions: the broker numbers its dead letters. origin: they name their queue.
	positions, origin bool
	headers           int // of Tasker that consumers keep
	changes           int // percent of failed messages
	policy            deadletter.Policy

	queue     []*message   // waiting for a consumer
	dead      []*burial    // waiting for Tasker, or without an acknowledgement
	delivered []*delivered // by position
	offset    int
	receiver  int
}

const (
	keepHeaders = iota
	dropHeaders
	dropLetter
	dropNumber
	anyHeaders // each consumer differs
)

// Messages of one class are equal.
type message struct {
	class   string
	id      string
	content deadletter.Content
	sent    bool // by Tasker
}

type burial struct {
	inbox.Arrival
	class    string
	sent     bool // by Tasker, and unchanged
	captured bool // and not acknowledged
}

// delivered is a captured message, at its position.
type delivered struct {
	inbox.Arrival
	letter task.ID
}

// sending is a send as the broker sees it.
type sending struct {
	owner task.ID
	no    int
}

// world is a broker with consumers and the truth about its messages. In an unclean one answers are lost and processes
// end.
type world struct {
	clean  bool
	dedupe bool // it stores each send once
	places []*place
	rng    *rand.Rand // of consumers and operators
	fronts []*front

	mu        sync.Mutex
	healed    bool
	need      map[string]int    // messages of a class to process
	done      map[string]int    // processed ones
	first     map[string]int    // deaths before the first send
	root      map[string]string // original class of a change
	roots     map[string]int    // messages of a root
	extra     map[string]int    // copies that repeats have added, by root
	strays    map[string]int    // sent and died again, as its own letter, by root
	byPolicy  map[string]map[sending]bool
	stored    map[string]int // by SendID
	silent    map[string]bool
	confirmed map[sending]bool
	bad       map[task.ID]int // unconfirmed tries of a letter that were begun
	faults    []string
}

// front is the broker as a node sees it.
type front struct {
	*broker
	world *world
	gate  sync.Mutex
	rngs  map[string]*rand.Rand // by source: sources send concurrently
	// hook runs while letters of a source are sent: before the message at, or after all.
	hook       func()
	hookSource string
	hookAt     int
	ended      bool // the process has ended: it writes nothing more
	// runs at that reading of the clock
	stall  atomic.Int64
	stalls func()
}

func (f *front) Exists(context.Context, *deadletter.Source, string) (bool, error) { return true, nil }

func (f *front) Send(_ context.Context, s *deadletter.Source, to string, letters []seam.Outgoing) []error {
	f.gate.Lock()
	defer f.gate.Unlock()
	errs := make([]error, len(letters))
	run := func(at int) {
		if f.hook != nil && f.hookSource == s.Name && at == min(f.hookAt, len(letters)) {
			hook := f.hook
			f.hook = nil
			hook()
		}
	}
	for i, l := range letters {
		run(i)
		if errs[i] = seam.ErrUnknown; !f.ended {
			errs[i] = f.world.take(f.rngs[s.Name], to, l)
		}
	}
	run(len(letters))
	return errs
}

func (w *world) take(rng *rand.Rand, to string, l seam.Outgoing) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := &message{class: class(to, deadletter.Canonical(l.Content), l.Letter.MessageID), id: l.Letter.MessageID,
		content: l.Content, sent: true}
	if _, known := w.need[m.class]; !known {
		w.faults = append(w.faults, fmt.Sprintf("%s gets what did not come from there: %s", to, m.class))
	}
	_, no := named(l.Content.Headers)
	send := sending{l.Letter.ID, no}
	switch root := w.root[m.class]; {
	case l.Letter.Redrive.IsZero():
		w.sentByPolicy(root, send)
	case l.Letter.Link.Kind == deadletter.LinkContent && no == 1: // it is no second letter, says an operator
		w.strays[root]++
	}
	chance := rng.IntN(100)
	switch {
	case w.healed || chance >= 30:
	case chance < 8:
		return fmt.Errorf("%w: the breaker is open", seam.ErrNotTried)
	case chance < 16 || w.clean:
		w.bad[send.owner]++
		return errors.New("refused")
	default:
		w.bad[send.owner]++
		if w.silent[l.SendID] = true; chance < 23 {
			w.store(to, l.SendID, m)
		}
		return fmt.Errorf("%w: no answer", seam.ErrUnknown)
	}
	w.confirmed[send] = true
	w.store(to, l.SendID, m)
	if w.silent[l.SendID] && chance%2 == 0 {
		return seam.ErrRepeated
	}
	return nil
}

func (w *world) sentByPolicy(root string, s sending) {
	if w.byPolicy[root] == nil {
		w.byPolicy[root] = map[sending]bool{}
	}
	w.byPolicy[root][s] = true
}

func (w *world) store(to, id string, m *message) {
	if w.stored[id] > 0 {
		if w.dedupe {
			return
		}
		w.extra[w.root[m.class]]++
	}
	w.stored[id]++
	p := w.place(to)
	p.queue = append(p.queue, m)
}

func (w *world) place(queue string) *place {
	return w.places[slices.IndexFunc(w.places, func(p *place) bool { return p.name == queue })]
}

func class(queue, canonical, id string) string { return queue + " " + canonical + " " + id }

func named(headers []deadletter.Header) (letter task.ID, no int) {
	for _, h := range headers {
		switch h.Name {
		case deadletter.HeaderLetter:
			letter, _ = task.ParseID(string(h.Value))
		case deadletter.HeaderReplays:
			no, _ = strconv.Atoi(string(h.Value))
		}
	}
	return letter, no
}

// born notes a message to process. of is the class that it changes, or "".
func (w *world) born(p *place, id string, c deadletter.Content, of string) *message {
	m := &message{class: class(p.name, deadletter.Canonical(c), id), id: id, content: c}
	w.need[m.class]++
	switch {
	case of != "":
		w.need[of]--
		w.root[m.class] = w.root[of]
	case w.root[m.class] == "":
		w.root[m.class] = m.class
	}
	if of == "" {
		w.roots[w.root[m.class]]++
	}
	return m
}

func ours(h deadletter.Header) bool {
	return h.Name == deadletter.HeaderLetter || h.Name == deadletter.HeaderReplays || h.Name == deadletter.HeaderRedrive
}

// dies buries a message. Consumers keep or drop headers, and may change the payload.
func (w *world) dies(p *place, m *message, now time.Time) {
	c := m.content
	kept := p.headers
	if kept == anyHeaders {
		kept = w.rng.IntN(anyHeaders)
	}
	c.Headers = slices.DeleteFunc(slices.Clone(c.Headers), func(h deadletter.Header) bool {
		return ours(h) && (kept == dropHeaders || kept == dropLetter && h.Name == deadletter.HeaderLetter ||
			kept == dropNumber && h.Name == deadletter.HeaderReplays)
	})
	letter, _ := named(c.Headers)
	if m.sent && w.rng.IntN(100) < p.changes && (!letter.IsZero() || p.format == "dlq_envelope") {
		c.Payload = fmt.Appendf(nil, `{"changed":%d}`, w.rng.Int64())
		m = w.born(p, m.id, c, m.class)
	}
	if !m.sent {
		w.first[m.class]++
	}
	w.bury(p, m, c, now)
}

// bury puts a message into the queue of dead letters.
func (w *world) bury(p *place, m *message, c deadletter.Content, now time.Time) {
	at := now.Add([]time.Duration{0, 0, -3 * time.Second, 3 * time.Second, -24 * time.Hour}[w.rng.IntN(5)])
	if w.rng.IntN(3) == 0 {
		at = at.Truncate(time.Second)
	}
	cause := causes[w.rng.IntN(len(causes))]
	a := inbox.Arrival{Report: inbox.Report{MessageID: m.id, Handler: "h", Content: c, Attempts: 3,
		Failure: failure.Report{Type: cause, Message: cause, Retryable: true}}, Format: p.format}
	a.FailedAt = task.At(at)
	a.Letter, a.Replays = named(c.Headers)
	if p.origin {
		a.Origin = p.name
	}
	if p.offset++; p.positions {
		a.Position = fmt.Sprint(p.source, "@", p.offset)
	}
	p.dead = append(p.dead, &burial{Arrival: a, class: m.class, sent: m.sent})
}

// consume processes a message or fails. A processed one may be published elsewhere with all headers, where it dies.
func (w *world) consume(p *place, fails, publishes int, now time.Time) {
	if len(p.queue) == 0 {
		return
	}
	i := w.rng.IntN(len(p.queue))
	m := p.queue[i]
	p.queue = slices.Delete(p.queue, i, i+1)
	if w.rng.IntN(100) < fails {
		w.dies(p, m, now)
		return
	}
	w.done[m.class]++
	other := w.places[w.rng.IntN(len(w.places))]
	if w.rng.IntN(100) >= publishes || other == p {
		return
	}
	c, id := m.content, ""
	if !other.origin || w.rng.IntN(2) == 0 {
		c.Payload = fmt.Appendf(nil, `{"published":%d}`, w.rng.Int64())
	}
	if !w.clean || other.format == "dlq_envelope" {
		id = fmt.Sprint("p", w.rng.Int64())
	}
	published := w.born(other, id, c, "")
	w.first[published.class]++
	w.bury(other, published, c, now)
}

// captures lets a node read dead letters. Without positions, the commit's answer or the acknowledgement may be lost:
// then the next receiver gets them again.
func (m *outboxModel) captures() string {
	return m.capture(m.any(), 1+m.rng.IntN(5))
}

func (m *outboxModel) capture(p *place, most int) string {
	batch := p.dead[:min(most, len(p.dead))]
	if len(batch) == 0 {
		return "captures nothing of " + p.name
	}
	list := make([]inbox.Arrival, len(batch))
	for i, b := range batch {
		if list[i] = b.Arrival; !p.positions {
			list[i].Receiver, list[i].Redelivered = fmt.Sprint("r", p.receiver), b.captured
		}
	}
	r := m.node()
	of := &deadletter.Source{Namespace: m.namespace, Name: p.source, Driver: "memory"}
	if !p.positions && m.rng.IntN(4) == 0 {
		store := r.Storing(of)(list)
		for range 2 {
			if err := store(m.t.Context()); err != nil {
				m.t.Fatal(err)
			}
		}
	} else {
		got, err := r.Capture(m.t.Context(), of, list)
		if err != nil {
			m.t.Fatal(err)
		}
		for i, b := range batch {
			if b.captured != (got[i].Status == model.Duplicate) && (b.captured || m.clean) {
				m.t.Fatalf("captured before: %v, and the receipt is %s", b.captured, got[i].Status)
			}
			if p.positions {
				p.delivered = append(p.delivered, &delivered{list[i], got[i].Letter})
			}
			if b.sent && got[i].Status == model.Captured {
				m.strays[m.root[b.class]]++
			}
		}
	}
	if !p.positions && m.rng.IntN(4) == 0 { // the acknowledgement is lost
		for _, b := range batch {
			b.captured = true
		}
		p.receiver++
		return fmt.Sprint("captures ", len(batch), " of ", p.name, " without an acknowledgement")
	}
	p.dead = p.dead[len(batch):]
	return fmt.Sprint("captures ", len(batch), " of ", p.name)
}

func (m *outboxModel) repeats() string {
	p := m.any()
	for range min(2, len(p.delivered)) {
		d := p.delivered[m.rng.IntN(len(p.delivered))]
		got, err := m.node().Capture(m.t.Context(), &deadletter.Source{Namespace: m.namespace, Name: p.source,
			Driver: "memory"}, []inbox.Arrival{d.Arrival})
		if err != nil || got[0].Status != model.Duplicate || got[0].Letter != d.letter {
			m.t.Fatalf("%s is repeated: %+v, %v, want the letter %s", d.Position, got, err, d.letter)
		}
	}
	return "repeats " + p.name
}

// redeliver repeats unacknowledged messages.
func (m *outboxModel) redeliver() {
	for _, p := range m.places {
		for len(p.dead) > 0 && p.dead[0].captured {
			m.capture(p, 5)
		}
	}
}
