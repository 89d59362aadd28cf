package inbox_test

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (m *outboxModel) check() {
	m.t.Helper()
	if len(m.faults) > 0 {
		m.t.Fatalf("%s", strings.Join(m.faults, "\n"))
	}
	letters := m.letters()
	live, all := map[string]int{}, map[string]int{}
	open := map[deadletter.GroupID]int64{}
	for _, l := range letters {
		of := class(l.Source, l.Canonical, l.MessageID)
		all[of]++
		switch l.State {
		case model.LetterRedriven:
			if !m.confirmed[sending{l.ID, l.Replays}] {
				m.t.Fatalf("the letter %s is redriven, and its send %d was not confirmed", l.ID, l.Replays)
			}
			continue
		case model.LetterOpen, model.LetterScheduled:
			open[l.Group]++
		case model.LetterDiscarded:
			p := m.place(l.Source)
			if strings.HasPrefix(l.Reason, deadletter.ReasonPrefix) && l.Sends()+m.bad[l.ID] < p.policy.MaxRetries {
				m.t.Fatalf("the letter %s is given up after %d sends of %d: %s", l.ID, l.Sends(), p.policy.MaxRetries, l.Reason)
			}
		}
		live[of]++
	}
	m.counts(open)
	if !m.clean {
		return
	}
	for _, p := range m.places {
		for _, q := range p.queue {
			live[q.class]++
		}
		for _, b := range p.dead {
			if !b.captured {
				live[b.class]++
			}
		}
	}
	for _, of := range slices.Sorted(maps.Keys(m.need)) {
		if m.need[of] != live[of]+m.done[of] {
			m.t.Fatalf("%s: there are %d messages, %d of them processed and %d waiting", of, m.need[of], m.done[of], live[of])
		}
		queue, _, _ := strings.Cut(of, " ")
		if m.place(queue).headers != anyHeaders && all[of] > m.first[of] {
			m.t.Fatalf("%s: %d letters of %d messages that died", of, all[of], m.first[of])
		}
	}
}

func (m *outboxModel) counts(open map[deadletter.GroupID]int64) {
	m.t.Helper()
	if _, _, err := m.nodes[0].Triage(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	page, err := m.nodes[0].Groups(m.t.Context(), groups.GroupFilter{Namespace: m.namespace, Limit: 1000}, "")
	if err != nil {
		m.t.Fatal(err)
	}
	for _, g := range page.Groups {
		if g.OpenLetters != open[g.ID] {
			m.t.Fatalf("the group %s has %d open letters, want %d", g.Print.Type, g.OpenLetters, open[g.ID])
		}
	}
}

// heal ends all faults and open operations.
func (m *outboxModel) heal() {
	m.healed = true
	for _, id := range m.redrives {
		_, err := m.nodes[0].ActOnRedrive(m.t.Context(), id, model.CancelRedrive, inbox.By{})
		if err != nil && task.CodeOf(err) != task.WrongState {
			m.t.Fatal(err)
		}
	}
}

// turnOver captures, sends and consumes all there is; fails is the percentage that consumers cannot process. It reports
// whether anything was left.
func (m *outboxModel) turnOver(after time.Duration, fails int) (busy bool) {
	m.redeliver()
	m.nodes[0].later(after)
	m.work(m.node())
	for _, p := range m.places {
		busy = busy || len(p.queue)+len(p.dead) > 0
		for len(p.queue) > 0 {
			m.consume(p, fails, 0, m.now())
		}
		for len(p.dead) > 0 {
			m.capture(p, 50)
		}
	}
	m.check()
	return busy
}

// rests wants policies to end within their retries though consumers process nothing.
func (m *outboxModel) rests() {
	for round := 0; ; round++ {
		busy := m.turnOver(2*time.Hour, 100)
		if !busy && m.in(model.LetterScheduled) == nil && m.in(model.LetterRedriving) == nil {
			break
		}
		if round == 60 {
			m.t.Fatalf("the policies do not come to rest")
		}
	}
	m.bounded()
}

// bounded wants that no policy has sent a letter more often than it may, with the letters that it continues, and no
// message: but for copies, and for what nobody can tell from an equal message, which becomes a letter too many.
func (m *outboxModel) bounded() {
	sends := map[task.ID]int{}
	for root, list := range m.byPolicy {
		queue, _, _ := strings.Cut(root, " ")
		p := m.place(queue)
		for s := range list {
			sends[s.owner]++
		}
		most := p.policy.MaxRetries * (m.roots[root] + m.extra[root] + m.strays[root])
		if len(list) > most {
			m.t.Fatalf("%s: a policy has sent %d messages %d times, with %d repeats and %d letters too many; it may %d times",
				root, m.roots[root], len(list), m.extra[root], m.strays[root], most)
		}
	}
	for _, l := range m.letters() {
		if most := m.place(l.Source).policy.MaxRetries; sends[l.ID] > 0 && sends[l.ID]+l.Lineage > most {
			m.t.Fatalf("a policy has sent the letter %s %d times, which continues %d sends; it may %d times", l.ID, sends[l.ID],
				l.Lineage, most)
		}
	}
}

// ends sends everything back until nothing is left.
func (m *outboxModel) ends() {
	m.did = append(m.did, "ends")
	for round := 0; ; round++ {
		for m.in(model.LetterDiscarded) != nil {
			m.restores()
		}
		for _, p := range m.places {
			m.freeze(p, deadletter.Plan{Canary: 1000, Observe: deadletter.NoObservation},
				deadletter.StopRule{ReturnedShare: 1, SamePrint: deadletter.MaxWave, Failed: deadletter.MaxWave}, true)
		}
		busy := m.turnOver(31*time.Second, 0)
		if !busy && !slices.ContainsFunc(m.letters(), func(l *deadletter.Letter) bool {
			return l.State != model.LetterRedriven
		}) {
			break
		}
		if round == 30 {
			m.t.Fatalf("letters are left")
		}
	}
	for _, of := range slices.Sorted(maps.Keys(m.need)) {
		if m.done[of] < m.need[of] || m.clean && m.done[of] > m.need[of] {
			m.t.Fatalf("%s: %d messages were processed %d times", of, m.need[of], m.done[of])
		}
	}
	m.settled()
}

// settled wants known outcomes of all sends, also in redrives.
func (m *outboxModel) settled() {
	r := m.nodes[0]
	var ids []task.ID
	replays := map[task.ID]int{}
	for _, l := range m.letters() {
		ids = append(ids, l.ID)
		replays[l.ID] = l.Replays
	}
	slices.SortFunc(ids, func(a, b task.ID) int { return cmp.Compare(a.Seq(), b.Seq()) })
	sent := map[task.ID]int{}
	err := r.db.Write(m.t.Context(), func(ctx context.Context, tx engine.Tx) error {
		sends, err := r.db.(inbox.Database).Inbox().SendsOf(ctx, tx, deadletter.SendLetter, ids)
		for _, s := range sends {
			if s.State == deadletter.SendDelivered || s.Died > 0 { // a death proves it, to the redrive
				sent[s.About]++
			}
			superseded := s.State == deadletter.SendUnknown && s.No < replays[s.Owner]
			if s.NextAt != 0 || s.State != deadletter.SendDelivered && s.State != deadletter.SendRefused && !superseded {
				m.t.Errorf("a send is left: %+v", s)
			}
			if m.clean && s.State == deadletter.SendDelivered && s.Copies != 1 {
				m.t.Errorf("a send has %d copies: %+v", s.Copies, s)
			}
		}
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, id := range m.redrives {
		found := r.found(id)
		c := found.Counts
		if c.Sent+c.Returned != sent[id] || c.Sending+c.Unknown > 0 ||
			found.State == model.RedriveDone && c.Pending > 0 {
			m.t.Errorf("the redrive is %s with %+v, and %d of its sends have arrived", found.State, c, sent[id])
		}
	}
	if m.t.Failed() {
		m.t.FailNow()
	}
}
