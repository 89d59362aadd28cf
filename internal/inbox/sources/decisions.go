package sources

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const shownLetters = 10

// Decisions counts decisions of policies in one transaction: one act for each policy and not for each of thousands of
// letters, which have their reasons themselves.
type Decisions struct {
	acts map[decision]*DecidedLetters
	News desk.LetterNews
}

// NewDecisions returns Decisions without any.
func NewDecisions() *Decisions {
	return &Decisions{acts: map[decision]*DecidedLetters{}, News: desk.LetterNews{}}
}

type decision struct {
	namespace, policy string
	to                model.LetterState
}

// DecidedLetters are the letters of one act: their number, and the first of them.
type DecidedLetters struct {
	Letters int      `json:"letters"`
	First   []string `json:"first"`
	reason  string
}

// Count counts a letter.
func (d *DecidedLetters) Count(l *deadletter.Letter) {
	if d.Letters++; len(d.First) < shownLetters {
		d.First = append(d.First, l.ID.String())
	}
}

func (d *Decisions) note(p *deadletter.Policy, l *deadletter.Letter) {
	if l.State != model.LetterDiscarded && l.State != model.LetterScheduled {
		return
	}
	d.News.Discarded(l)
	of := decision{l.Namespace, policyName(p), l.State}
	if d.acts[of] == nil {
		d.acts[of] = &DecidedLetters{reason: l.Reason}
	}
	d.acts[of].Count(l)
}

// Events returns the events of the decisions.
func (d *Decisions) Events(now task.Instant) []deadletter.Event { return d.News.Events(now) }

// Store stores an act for each policy and state.
func (d *Decisions) Store(ctx context.Context, tx engine.Tx, in *desk.Desk) error {
	order := slices.SortedFunc(maps.Keys(d.acts), func(a, b decision) int {
		return slices.Compare([]string{a.namespace, a.policy, string(a.to)}, []string{b.namespace, b.policy, string(b.to)})
	})
	for _, of := range order {
		a := desk.Act{Kind: "policy_schedule", By: desk.By{Actor: engine.System, Reason: "policy " + of.policy},
			Namespace: of.namespace, Of: of.policy, From: string(model.LetterOpen), To: string(of.to), Data: d.acts[of]}
		if of.to == model.LetterDiscarded {
			a.Kind = "policy_discard"
			if reason := d.acts[of].reason; reason != "" {
				a.By.Reason = fmt.Sprintf("%.500s", of.policy+": "+reason)
			}
		}
		if err := in.Act(ctx, tx, a); err != nil {
			return err
		}
	}
	return nil
}

// Policies are stored policies and the default one.
type Policies struct {
	list []*deadletter.Policy
	rest *deadletter.Policy // nil: letters are left to operators
}

// PoliciesOf returns the policies of a namespace.
func (in *Registry) PoliciesOf(ctx context.Context, namespace string) (Policies, error) {
	all, err := in.store.Policies(ctx, namespace)
	return Policies{all, in.opts.DefaultPolicy}, err
}

func (p Policies) ofSource(s *deadletter.Source) []*deadletter.Policy {
	out := deadletter.PoliciesOf(p.list, s.Name)
	if n := len(out); n > 0 && out[n-1].Origin == "" {
		return out
	}
	last := deadletter.Policy{Strategy: model.Manual, SetFrom: model.SetByDefault}
	if p.rest != nil {
		last = *p.rest
	}
	last.Namespace = s.Namespace
	return append(out, &last)
}

// Of returns the policy of a letter, or nil.
func (p Policies) Of(l *deadletter.Letter) *deadletter.Policy {
	return p.Find(l.Namespace, l.Source, l.Origin)
}

// Find returns the policy of the letters of a source and origin, or nil.
func (p Policies) Find(namespace, source, origin string) *deadletter.Policy {
	list, other := p.list, func(p *deadletter.Policy) bool { return p.Namespace != namespace }
	if slices.ContainsFunc(list, other) {
		list = slices.DeleteFunc(slices.Clone(list), other)
	}
	if found := deadletter.PolicyFor(list, source, origin); found != nil {
		return found
	}
	return p.rest
}

// Decide schedules or discards an open letter by its policy, or leaves it with a reason. failed is why the last send
// failed, or "". made collects the decision for the audit trail and listeners.
func (p Policies) Decide(l *deadletter.Letter, failed string, now task.Instant, made *Decisions) {
	of := p.Of(l)
	if of == nil {
		return
	}
	d := of.Decide(l, now, rand.Float64())
	if d.Reason != "" && failed != "" {
		d.Reason += "; the last send: " + failed
	}
	// An open letter can always be discarded and scheduled: there is no error.
	switch d.Verdict {
	case deadletter.VerdictDiscard:
		_ = l.Discard(deadletter.ReasonPrefix+d.Reason, now, deadletter.Retention)
	case deadletter.VerdictSend:
		_ = l.Schedule(d.At, now)
		l.Reason = failed
	default:
		l.Reason = cmp.Or(d.Reason, failed)
	}
	made.note(of, l)
}
