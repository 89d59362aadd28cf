package groups

import (
	"context"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

type mover struct {
	in   *Sorter
	ctx  context.Context
	move *Move

	rule  *compiledRule
	print failure.Print
	from  deadletter.GroupID
	done  bool

	sensitive map[string][]string // names of sensitive headers, by source
}

type members struct {
	cases   []CaseMember
	letters []task.ID
	next    task.ID
}

func (m *mover) members() (list members, err error) {
	list.cases, err = m.in.store.CaseMembers(m.ctx, m.from, m.move.AfterCase, movedAtOnce)
	if err != nil || len(list.cases) > 0 {
		return list, err
	}
	page, err := m.in.store.ListLetters(m.ctx, letters.LetterFilter{Below: m.move.AfterLetter, Limit: movedAtOnce,
		Selection: deadletter.Selection{Namespace: m.move.Namespace, Groups: []deadletter.GroupID{m.from}}})
	for _, l := range page.Letters {
		list.letters = append(list.letters, l.ID)
	}
	list.next = page.Next
	return list, err
}

// step moves the next members: those that the rule of a split selects or, to undo it, those of its groups. Members that
// come meanwhile are in their groups already.
func (m *mover) step() (int, error) {
	if found, err := m.prepare(); err != nil || !found {
		if err == nil {
			err = m.in.DB.Write(m.ctx, m.end)
		}
		return 0, err
	}
	list, err := m.members()
	if err != nil {
		return 0, err
	}
	err = m.in.DB.Write(m.ctx, func(ctx context.Context, tx engine.Tx) error {
		if err := m.moveAll(ctx, tx, &list); err != nil || m.move.Undo {
			return err
		}
		switch n := len(list.cases); {
		case n > 0:
			m.move.AfterCase = list.cases[n-1].ID
		case list.next.IsZero():
			return m.end(ctx, tx)
		default:
			m.move.AfterLetter = list.next
		}
		return m.in.store.SaveMove(ctx, tx, m.move)
	})
	return len(list.cases) + len(list.letters), err
}

// prepare finds the group that members leave and the rule. false: nothing is left to move.
func (m *mover) prepare() (bool, error) {
	var err error
	if m.move.Undo {
		m.from, err = m.in.store.GroupOfRule(m.ctx, m.move.Namespace, m.move.Rule, m.move.Since)
		return m.from != 0, err
	}
	g, err := m.in.store.FindGroup(m.ctx, m.move.Group)
	if err != nil || g == nil {
		return false, err
	}
	versions, err := m.in.store.RuleVersions(m.ctx, m.move.Namespace, m.move.Rule, m.move.Since, 1)
	if err != nil || len(versions) == 0 {
		return false, err
	}
	program, problems := m.in.ruler.compile(versions[0])
	if len(problems) > 0 { // stored by a newer version
		return false, nil
	}
	m.from, m.print, m.rule = g.ID, g.Print, &compiledRule{rule: versions[0], program: program}
	m.sensitive, err = m.in.sources.SensitiveHeaders(m.ctx, m.move.Namespace)
	return true, err
}

func (m *mover) end(ctx context.Context, tx engine.Tx) error {
	m.done = true
	return m.in.store.DropMove(ctx, tx, m.move.ID)
}

func (m *mover) target(tally *deadletter.Tally, f *deadletter.Facts, first task.Instant) deadletter.GroupID {
	if m.move.Undo {
		return m.move.Group
	}
	print, ok := m.rule.apply(m.print, f)
	if !ok {
		return 0
	}
	g := deadletter.NewGroup(m.move.Namespace, print, m.in.Now())
	g.LastAt = 0 // the counts set it
	g = tally.Join(g)
	g.FirstAt = min(g.FirstAt, first)
	return g.ID
}

// moveAll moves members with their counts. It locks letters and tasks before groups, as a capture does.
func (m *mover) moveAll(ctx context.Context, tx engine.Tx, list *members) error {
	tally := &deadletter.Tally{}
	moving, open := map[deadletter.GroupID][]task.ID{}, map[deadletter.GroupID]int64{}
	locked, err := m.in.store.Letters(ctx, tx, list.letters)
	if err != nil {
		return err
	}
	for _, l := range locked {
		if l.Group != m.from {
			continue // it has died of something else since
		}
		facts := deadletter.FactsOfLetter(l, l.Failure, l.Handler, l.Stack, m.sensitive[l.Source])
		if to := m.target(tally, &facts, l.FirstAt); to != 0 {
			moving[to] = append(moving[to], l.ID)
			open[to] += letters.Opened(l.State)
		}
	}
	cases := map[deadletter.GroupID][]CaseMember{}
	for _, c := range list.cases {
		if to := m.target(tally, &c.Facts, m.in.Now()); to != 0 {
			cases[to] = append(cases[to], c)
		}
	}
	if err := m.in.store.AddGroups(ctx, tx, tally.Groups()); err != nil {
		return err
	}
	var deltas []deadletter.Delta
	count := func(to deadletter.GroupID, d deadletter.Delta) {
		d.Group = to
		deltas = append(deltas, d)
		d.Group, d.Failures, d.OpenLetters, d.OpenCases = m.from, -d.Failures, -d.OpenLetters, -d.OpenCases
		deltas = append(deltas, d)
	}
	for to, ids := range moving {
		died, err := m.in.store.MoveLetters(ctx, tx, ids, m.from, to)
		if err != nil {
			return err
		}
		count(to, deadletter.Delta{OpenLetters: open[to]})
		for _, at := range died {
			count(to, deadletter.Delta{Failures: 1, At: at})
		}
	}
	for to, list := range cases {
		moved, err := m.in.store.MoveCases(ctx, tx, list, m.from, to)
		if err != nil {
			return err
		}
		for _, c := range moved {
			d := deadletter.Delta{Failures: 1, At: c.At}
			if c.Pending {
				d.OpenCases = 1
			}
			count(to, d)
		}
	}
	return m.in.store.MoveCounts(ctx, tx, deltas)
}

// PrintFunc applies the rules of a namespace to a fingerprint without rules.
type PrintFunc func(namespace string, print failure.Print, facts func() deadletter.Facts) (failure.Print, error)

// CaseMember is a case of a group, as rules see it.
type CaseMember struct {
	ID, Task task.ID
	Facts    deadletter.Facts
}

// Move is a split under way, or its reversal: it moves members batch by batch.
type Move struct {
	ID        task.ID
	Namespace string
	Group     deadletter.GroupID
	Rule      string
	Since     int64
	Undo      bool
	Begun     task.Instant
	// AfterLetter and AfterCase are the position of a split; a reversal needs none.
	AfterLetter, AfterCase task.ID
}

// MovedCase is a moved case: its last failure, and whether it is pending.
type MovedCase struct {
	At      task.Instant
	Pending bool
}
