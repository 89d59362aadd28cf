package inbox_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/groups"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// reference is the expected state of the inbox.
type reference struct {
	*rig
	rng *rand.Rand

	letters  []*modelLetter
	groups   map[deadletter.GroupID]*modelGroup
	redrives []*modelRedrive
	down     bool // the broker refuses sends
}

type modelLetter struct {
	id          task.ID
	group       deadletter.GroupID
	last        inbox.Arrival // latest death
	state       model.LetterState
	occurrences int
	replays     int
	parked      bool
	sent        *modelRedrive // the last that sent it
}

type modelGroup struct {
	state       model.GroupState
	regressions int
	into        deadletter.GroupID
	failed      bool // since the last triage
}

type modelRedrive struct {
	id     task.ID
	active bool
	left   []*modelLetter
	counts model.ItemCounts
}

var causes = []string{"Timeout", "Schema", "Price"}

// TestInboxModel compares the inbox with a reference after random acts of consumers, brokers and operators. INBOX_SEED
// repeats a run by its printed seed.
func TestInboxModel(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("INBOX_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("INBOX_SEED: %v", err)
		}
	}
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		t.Logf("INBOX_SEED=%d", seed)
		m := &reference{rig: r, rng: rand.New(rand.NewPCG(seed, 0)), groups: map[deadletter.GroupID]*modelGroup{}}
		r.broker.fails = func(seam.Outgoing) error {
			if m.down {
				return errors.New("refused")
			}
			return nil
		}
		acts := 120
		if testing.Short() {
			acts = 40
		}
		verbs := []func() string{m.dies, m.dies, m.repeats, m.comesBack, m.comesBack, m.discards, m.restores, m.edits,
			m.freezes, m.freezes, m.advances, m.advances, m.stops, m.changes, m.merges, m.unmerges, m.breaks, m.triages}
		for n := range acts {
			r.later(time.Millisecond)
			did := verbs[m.rng.IntN(len(verbs))]()
			if t.Failed() {
				t.Fatalf("act %d: %s", n, did)
			}
			m.compare(fmt.Sprintf("act %d (%s)", n, did))
		}
	})
}

func (m *reference) pick(states ...model.LetterState) *modelLetter {
	var of []*modelLetter
	for _, l := range m.letters {
		if slices.Contains(states, l.state) {
			of = append(of, l)
		}
	}
	if len(of) == 0 {
		return nil
	}
	return of[m.rng.IntN(len(of))]
}

func (m *reference) failed(id deadletter.GroupID) {
	if m.groups[id] == nil {
		m.groups[id] = &modelGroup{state: model.GroupOpen}
	}
	m.groups[id].failed = true
}

func (m *reference) dies() string {
	a := dead(len(m.letters)+1, causes[m.rng.IntN(len(causes))])
	got := m.die(a)[0]
	m.want("a new message", got.Status, model.Captured)
	m.letters = append(m.letters, &modelLetter{id: got.Letter, group: got.Group, last: a, state: model.LetterOpen,
		occurrences: 1})
	m.failed(got.Group)
	return "dies"
}

func (m *reference) repeats() string {
	if l := m.pick(model.LetterOpen, model.LetterRedriven, model.LetterDiscarded); l != nil && l.last.Position != "" {
		m.want("a repeated delivery", m.die(l.last)[0].Status, model.Duplicate)
	}
	return "repeats"
}

func (m *reference) comesBack() string {
	l := m.pick(model.LetterRedriven)
	if l == nil {
		return "nothing comes back"
	}
	a := back(m.letter(l.id), causes[m.rng.IntN(len(causes))])
	a.Replays = l.replays
	got := m.die(a)[0]
	m.want("a message that comes back", []any{got.Status, got.Letter}, []any{model.Returned, l.id})
	l.last, l.state, l.group = a, model.LetterOpen, got.Group
	l.occurrences++
	l.parked = l.replays >= deadletter.DefaultMaxReplays
	l.sent.counts.Sent--
	l.sent.counts.Returned++
	m.failed(got.Group)
	return "comes back"
}

func (m *reference) discards() string {
	if l := m.pick(model.LetterOpen); l != nil {
		_, err := m.DiscardLetter(m.t.Context(), l.id, inbox.By{Reason: "a test"})
		m.want("discard", err, nil)
		l.state = model.LetterDiscarded
	}
	if l := m.pick(model.LetterRedriven); l != nil {
		_, err := m.DiscardLetter(m.t.Context(), l.id, inbox.By{Reason: "a test"})
		m.refused(err, task.WrongState)
	}
	return "discards"
}

func (m *reference) restores() string {
	if l := m.pick(model.LetterDiscarded); l != nil {
		_, err := m.RestoreLetter(m.t.Context(), l.id, inbox.By{})
		m.want("restore", err, nil)
		l.state = model.LetterOpen
	}
	return "restores"
}

func (m *reference) edits() string {
	if l := m.pick(model.LetterOpen); l != nil {
		patch := fmt.Appendf(nil, `{"edit":%d}`, m.rng.IntN(100))
		_, err := m.EditLetter(m.t.Context(), l.id, letters.LetterEdit{Edit: deadletter.Edit{Patch: patch}})
		m.want("edit", err, nil)
	}
	return "edits"
}

// freezes starts a redrive of all open letters, without a send.
func (m *reference) freezes() string {
	r := &modelRedrive{active: true}
	for _, l := range m.letters {
		if l.state == model.LetterOpen && !l.parked {
			r.left = append(r.left, l)
		}
	}
	made, err := m.CreateRedrive(m.t.Context(), redrive.Request{Operation: model.OpRedrive, Start: true,
		Selection: deadletter.Selection{Namespace: "default", Source: "orders"},
		Plan:      deadletter.Plan{Canary: 10_000, Largest: 10_000, Observe: 24 * time.Hour},
		Stop:      deadletter.StopRule{ReturnedShare: 1, SamePrint: 100_000, Failed: 100_000}})
	if len(r.left) == 0 {
		m.refused(err, task.Conflict)
		return "freezes nothing"
	}
	m.want("freeze", err, nil)
	r.id = made.ID
	r.counts.Pending = len(r.left)
	m.want("frozen", made.Total, len(r.left))
	m.redrives = append(m.redrives, r)
	return "freezes"
}

func (m *reference) advances() string {
	m.advance()
	for _, r := range m.redrives {
		if !r.active {
			continue
		}
		for _, l := range r.left {
			r.counts.Pending--
			switch {
			case l.state != model.LetterOpen || l.parked:
				r.counts.Skipped++
			case m.down:
				r.counts.Failed++
			default:
				r.counts.Sent++
				l.state, l.sent = model.LetterRedriven, r
				l.replays++
			}
		}
		r.left = nil
	}
	return "advances"
}

func (m *reference) stops() string {
	for _, r := range m.redrives {
		if len(r.left) == 0 {
			continue
		}
		what := []model.RedriveAction{model.PauseRedrive, model.CancelRedrive}[m.rng.IntN(2)]
		if !r.active {
			what = model.ResumeRedrive
		}
		_, err := m.ActOnRedrive(m.t.Context(), r.id, what, inbox.By{})
		m.want(string(what), err, nil)
		if r.active = what == model.ResumeRedrive; what == model.CancelRedrive {
			r.left = nil
		}
		return string(what)
	}
	return "stops nothing"
}

func (m *reference) group(merged bool) deadletter.GroupID {
	var of []deadletter.GroupID
	for id, g := range m.groups {
		if (g.into != 0) == merged {
			of = append(of, id)
		}
	}
	if len(of) == 0 {
		return 0
	}
	slices.Sort(of)
	return of[m.rng.IntN(len(of))]
}

func (m *reference) changes() string {
	m.triages()
	id := m.group(false)
	if id == 0 {
		return "changes nothing"
	}
	states := []model.GroupState{model.GroupOpen, model.GroupAcknowledged, model.GroupResolved}
	to := states[m.rng.IntN(len(states))]
	if g := m.groups[id]; g.state != to {
		_, err := m.ChangeGroup(m.t.Context(), id, groups.GroupChange{State: to})
		if g.state == model.GroupResolved && to == model.GroupAcknowledged {
			m.refused(err, task.WrongState)
			return "refuses to acknowledge"
		}
		m.want("change to "+string(to), err, nil)
		g.state = to
	}
	return "changes to " + string(to)
}

func (m *reference) merges() string {
	m.triages()
	into, other := m.group(false), m.group(false)
	shows := false
	for _, g := range m.groups {
		shows = shows || g.into == other
	}
	if into == other || shows {
		return "merges nothing"
	}
	_, err := m.MergeGroups(m.t.Context(), into, []deadletter.GroupID{other}, inbox.By{})
	m.want("merge", err, nil)
	m.groups[other].into = into
	return "merges"
}

func (m *reference) unmerges() string {
	m.triages()
	if id := m.group(true); id != 0 {
		_, err := m.UnmergeGroup(m.t.Context(), id, inbox.By{})
		m.want("unmerge", err, nil)
		m.groups[id].into = 0
	}
	return "unmerges"
}

func (m *reference) breaks() string {
	m.down = !m.down
	return fmt.Sprint("broker down: ", m.down)
}

// triages applies failures to the states of groups; failures of a merged group count for the one that shows it.
func (m *reference) triages() string {
	if _, _, err := m.Triage(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	for _, g := range m.groups {
		if !g.failed {
			continue
		}
		g.failed = false
		if g.into != 0 {
			g = m.groups[g.into]
		}
		if g.state == model.GroupResolved {
			g.state = model.GroupOpen
			g.regressions++
		}
	}
	return "triages"
}

func (m *reference) compare(after string) {
	m.t.Helper()
	open := map[deadletter.GroupID]int64{}
	for _, want := range m.letters {
		l := m.letter(want.id)
		m.want(after+": letter "+want.id.String(), []any{l.State, l.Occurrences, l.Replays, l.Parked, l.Group},
			[]any{want.state, want.occurrences, want.replays, want.parked, want.group})
		if want.state == model.LetterOpen {
			open[want.group]++
			if into := m.groups[want.group].into; into != 0 {
				open[into]++
			}
		}
	}
	for id, want := range m.groups {
		story, err := m.Group(m.t.Context(), id)
		m.want(after+": group", err, nil)
		m.want(after+": open letters", story.Group.OpenLetters, open[id])
		if !want.failed {
			m.want(after+": state of the group", []any{story.Group.State, story.Group.Regressions},
				[]any{want.state, want.regressions})
		}
	}
	for _, want := range m.redrives {
		m.want(after+": redrive "+want.id.String(), m.found(want.id).Counts, want.counts)
	}
}
