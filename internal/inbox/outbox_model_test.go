package inbox_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
)

type outboxModel struct {
	*world
	t         *testing.T
	nodes     []*rig
	namespace string
	serial    int
	redrives  []task.ID
	did       []string
}

// TestOutboxModel lets messages die, be sent back and consumed, in seeded worlds: INBOX_SEED repeats one, INBOX_WORLDS
// sets their number. A clean world knows all outcomes and has each message once at every moment: in a queue, as a
// letter, or processed. In others answers get lost and processes end, and each message is processed in the end, perhaps
// more than once.
func TestOutboxModel(t *testing.T) {
	t.Parallel()
	seed, worlds := uint64(time.Now().UnixNano()), 8
	if testing.Short() {
		worlds = 2
	}
	if n := fromEnv(t, "INBOX_SEED"); n != 0 {
		seed, worlds = n, 1
	}
	if n := fromEnv(t, "INBOX_WORLDS"); n != 0 {
		worlds = int(n)
	}
	runAll := func(t *testing.T, open func() engine.Database, nodes int) {
		t.Parallel()
		m := &outboxModel{t: t}
		fronts := make([]*front, nodes)
		for i := range nodes {
			f := &front{broker: newBroker()}
			fronts[i] = f
			m.nodes = append(m.nodes, newRig(t, open(), func(o *node.Options) {
				now := o.Now
				if i > 0 {
					now = m.nodes[0].clock
				}
				o.Now = func() time.Time {
					if f.stall.Load() > 0 && f.stall.Add(-1) == 0 {
						f.stalls()
					}
					return now()
				}
				o.Carriers = map[string]inbox.Carrier{"memory": f}
			}))
		}
		for n := range worlds {
			m.live(seed+uint64(n), fronts)
		}
	}
	t.Run("SQLite", func(t *testing.T) {
		runAll(t, func() engine.Database {
			s, err := sqlite.Open(t.Context(), sqlitetest.File(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}, 1)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		dsn := postgrestest.DSN(t)
		runAll(t, func() engine.Database {
			s, err := postgres.Open(t.Context(), dsn, nil)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}, 2)
	})
}

func fromEnv(t *testing.T, name string) (n uint64) {
	t.Helper()
	if text := os.Getenv(name); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return n
}

func (m *outboxModel) live(seed uint64, fronts []*front) {
	defer func() {
		if m.t.Failed() {
			m.t.Logf("INBOX_SEED=%d\n%s", seed, strings.Join(m.did, "\n"))
		}
	}()
	m.begin(seed, fronts)
	verbs := []func() string{m.creates, m.creates, m.creates, m.consumes, m.consumes, m.consumes, m.consumes, m.captures,
		m.captures, m.captures, m.captures, m.repeats, m.sends, m.sends, m.sends, m.sends, m.redrive, m.redrive, m.controls,
		m.discards, m.restores, m.edits, m.passes, m.passes}
	for n := range 60 {
		m.nodes[0].later(7 * time.Millisecond)
		m.did = append(m.did, verbs[m.rng.IntN(len(verbs))]())
		if n%4 == 3 {
			m.check()
		}
	}
	m.heal()
	m.rests()
	m.ends()
}

func (m *outboxModel) begin(seed uint64, fronts []*front) {
	rng := rand.New(rand.NewPCG(seed, 0))
	m.world = &world{clean: rng.IntN(2) == 0, dedupe: rng.IntN(2) == 0, rng: rng, fronts: fronts,
		need: map[string]int{}, done: map[string]int{}, first: map[string]int{}, root: map[string]string{},
		roots: map[string]int{}, extra: map[string]int{}, strays: map[string]int{}, byPolicy: map[string]map[sending]bool{},
		stored: map[string]int{}, silent: map[string]bool{}, confirmed: map[sending]bool{}, bad: map[task.ID]int{}}
	m.namespace = fmt.Sprint("w", seed)
	m.serial, m.redrives, m.did = 0, nil, nil
	for _, p := range []place{{name: "orders", format: "tasker", positions: true, origin: true},
		{name: "invoices", format: "dlq_envelope", positions: true, origin: true},
		{name: "mail", format: "tasker", origin: true}, {name: "notes", format: "raw", positions: true}} {
		p.source, p.headers = p.name, rng.IntN(anyHeaders+1)
		p.changes = []int{0, 15, 100}[rng.IntN(3)]
		m.places = append(m.places, &p)
		m.nodes[0].source(deadletter.Source{Namespace: m.namespace, Name: p.source, Driver: "memory",
			Queue: p.name + ".dlq", Targets: []string{p.name}})
		p.policy = deadletter.Policy{Namespace: m.namespace, Source: p.source, MaxRetries: 1 + rng.IntN(4),
			KeepExhausted: rng.IntN(2) == 0, Base: 5 * time.Second,
			Strategy: []model.Strategy{model.Manual, model.Immediate, model.Fixed}[rng.IntN(3)]}
		if _, err := m.nodes[0].SavePolicy(m.t.Context(), &p.policy, inbox.By{}); err != nil {
			m.t.Fatal(err)
		}
	}
	for i, f := range fronts {
		f.world, f.hook, f.ended, f.rngs = m.world, nil, false, map[string]*rand.Rand{}
		for k, p := range m.places {
			f.rngs[p.source] = rand.New(rand.NewPCG(seed, uint64(1+10*i+k)))
		}
	}
}

func (m *outboxModel) now() time.Time { return m.nodes[0].clock() }

func (m *outboxModel) node() *rig { return m.nodes[m.rng.IntN(len(m.nodes))] }

func (m *outboxModel) any() *place { return m.places[m.rng.IntN(len(m.places))] }

// creates makes messages that die, perhaps after a consumer took them. Few contents make many equal messages.
func (m *outboxModel) creates() string {
	p := m.any()
	n := 1 + m.rng.IntN(4)
	for range n {
		m.serial++
		c := deadletter.Content{Payload: []byte([]string{`{"job":"refresh"}`, `{"job":"clean"}`,
			`{"of":"` + p.name + `"}`}[m.serial%3])}
		if m.rng.IntN(2) == 0 {
			c.Headers = []deadletter.Header{{Name: "trace", Value: []byte("t1")}}
		}
		id := ""
		switch {
		case p.format == "dlq_envelope":
			id = fmt.Sprint("m", m.serial)
		case p.name == "mail" && m.clean: // equal ones, and several contents
			id = fmt.Sprint("s", m.rng.IntN(2))
		case p.name == "mail": // of several contents
			id = fmt.Sprint("s", m.serial/3)
		}
		message := m.born(p, id, c, "")
		if m.rng.IntN(4) == 0 {
			p.queue = append(p.queue, message)
		} else {
			m.dies(p, message, m.now())
		}
	}
	return fmt.Sprint("creates ", n, " of ", p.name)
}

func (m *outboxModel) consumes() string {
	p := m.any()
	n := m.rng.IntN(5)
	for range n {
		m.consume(p, 60, 10, m.now())
	}
	return fmt.Sprint("consumes ", n, " of ", p.name)
}

// sends sends due messages. In an unclean world the process may end meanwhile, or stall while another continues.
func (m *outboxModel) sends() string {
	i := m.rng.IntN(len(m.nodes))
	r, f := m.nodes[i], m.fronts[i]
	ctx, cancel := context.WithCancel(m.t.Context())
	defer cancel()
	what := "sends"
	others := func() {}
	if chance := m.rng.IntN(10); !m.clean && chance < 9 {
		f.hookSource, f.hookAt = m.any().source, m.rng.IntN(4)
		switch {
		case chance < 3:
			what = "ends while it sends"
			f.hook = func() { f.ended = true; cancel() }
		case len(m.nodes) == 1:
		case chance < 5:
			what = "stalls while it sends"
			f.hook = func() { m.meanwhile(m.nodes[1-i]) }
		default:
			what = "stalls"
			m.begins()
			f.stalls = func() { others = m.beside(m.nodes[1-i]) }
			f.stall.Store(int64(1 + m.rng.IntN(10)))
		}
	}
	_, _, err := r.Advance(ctx)
	if err == nil {
		_, _, err = r.SendDue(ctx)
	}
	if err != nil && ctx.Err() == nil {
		m.t.Fatalf("%s: %v", what, err)
	}
	f.stall.Store(0)
	f.hook, f.ended = nil, false
	others()
	return fmt.Sprint("node ", i, " ", what, " ", f.hookSource)
}

// meanwhile lets another node do everything, once the first counts as ended.
func (m *outboxModel) meanwhile(other *rig) {
	m.nodes[0].later(26 * time.Second)
	for range 2 {
		m.work(other)
	}
	m.consumes()
	m.captures()
	m.discards()
	m.restores()
}

// beside lets another node work, which may wait for rows locked by the first.
func (m *outboxModel) beside(other *rig) (wait func()) {
	done := make(chan struct{})
	m.nodes[0].later(26 * time.Second)
	go func() {
		defer close(done)
		for range 2 {
			m.work(other)
		}
	}()
	select {
	case <-done:
	case <-time.After(200 * time.Millisecond):
	}
	return func() { <-done }
}

func (m *outboxModel) work(r *rig) {
	if _, _, err := r.Advance(m.t.Context()); err != nil {
		m.t.Error(err)
	}
	if _, _, err := r.SendDue(m.t.Context()); err != nil {
		m.t.Error(err)
	}
}

func (m *outboxModel) redrive() string {
	never := deadletter.StopRule{ReturnedShare: 1, SamePrint: deadletter.MaxWave, Failed: deadletter.MaxWave}
	plan := deadletter.Plan{Canary: 1 + m.rng.IntN(20), Observe: deadletter.NoObservation,
		AtMostOnce: m.rng.IntN(4) == 0}
	if m.rng.IntN(2) == 0 {
		never, plan.Observe = deadletter.StopRule{}, time.Second
	}
	p := m.any()
	m.freeze(p, plan, never, m.rng.IntN(2) == 0)
	return "redrives " + p.name
}

// begins sends all dead messages in one wave, and keeps observing.
func (m *outboxModel) begins() {
	p := m.any()
	m.capture(p, 5)
	m.freeze(p, deadletter.Plan{Canary: 100, Observe: time.Hour}, deadletter.StopRule{}, true)
}

func (m *outboxModel) freeze(p *place, plan deadletter.Plan, stop deadletter.StopRule, parked bool) {
	made, err := m.node().CreateRedrive(m.t.Context(), redrive.Request{Operation: model.OpRedrive, Start: true,
		Selection: deadletter.Selection{Namespace: m.namespace, Source: p.source}, Plan: plan, Stop: stop,
		Destination: p.name, IncludeParked: parked})
	if task.CodeOf(err) == task.Conflict {
		return
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.redrives = append(m.redrives, made.ID)
}

func (m *outboxModel) controls() string {
	if len(m.redrives) == 0 {
		return "controls nothing"
	}
	acts := []model.RedriveAction{model.PauseRedrive, model.ResumeRedrive, model.ResumeRedrive, model.CancelRedrive}
	act := acts[m.rng.IntN(len(acts))]
	_, err := m.node().ActOnRedrive(m.t.Context(), m.redrives[m.rng.IntN(len(m.redrives))], act, inbox.By{})
	if err != nil && task.CodeOf(err) != task.WrongState {
		m.t.Fatal(err)
	}
	return string(act)
}

func (m *outboxModel) letters() []*deadletter.Letter {
	page, err := m.nodes[0].Letters(m.t.Context(), inbox.LetterFilter{Limit: 1000,
		Selection: deadletter.Selection{Namespace: m.namespace}})
	if err != nil {
		m.t.Fatal(err)
	}
	slices.SortFunc(page.Letters, func(a, b *deadletter.Letter) int { return slices.Compare(a.ID[:], b.ID[:]) })
	return page.Letters
}

func (m *outboxModel) in(state model.LetterState) *deadletter.Letter {
	list := slices.DeleteFunc(m.letters(), func(l *deadletter.Letter) bool { return l.State != state })
	if len(list) == 0 {
		return nil
	}
	return list[m.rng.IntN(len(list))]
}

func (m *outboxModel) discards() string {
	if l := m.in(model.LetterOpen); l != nil {
		if _, err := m.node().DiscardLetter(m.t.Context(), l.ID, inbox.By{Reason: "a test"}); err != nil {
			m.t.Fatal(err)
		}
	}
	return "discards"
}

func (m *outboxModel) restores() string {
	if l := m.in(model.LetterDiscarded); l != nil {
		if _, err := m.node().RestoreLetter(m.t.Context(), l.ID, inbox.By{}); err != nil {
			m.t.Fatal(err)
		}
	}
	return "restores"
}

// edits makes the content of a letter another message.
func (m *outboxModel) edits() string {
	l := m.in(model.LetterOpen)
	if l == nil {
		return "edits nothing"
	}
	before := class(l.Source, l.Canonical, l.MessageID)
	l, err := m.node().EditLetter(m.t.Context(), l.ID,
		letters.LetterEdit{Edit: deadletter.Edit{Patch: fmt.Appendf(nil, `{"edit":%d}`, m.rng.Int64())}})
	if err != nil {
		m.t.Fatal(err)
	}
	m.born(m.place(l.Source), l.MessageID, l.Outgoing(), before)
	m.first[class(l.Source, l.Canonical, l.MessageID)]++
	return "edits"
}

// passes redelivers unacknowledged messages before time passes.
func (m *outboxModel) passes() string {
	d := time.Duration(m.rng.IntN(40)) * time.Second
	m.redeliver()
	m.nodes[0].later(d)
	return "passes " + d.String()
}
