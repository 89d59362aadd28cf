package inbox

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/taskerhq/tasker/internal/inbox/desk"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const shownLetters = 10

// decisions counts decisions of policies in one transaction: one act for each policy and not for each of thousands of
// letters, which have their reasons themselves.
type decisions struct {
	acts map[decision]*decidedLetters
	news desk.LetterNews
}

func newDecisions() *decisions {
	return &decisions{acts: map[decision]*decidedLetters{}, news: desk.LetterNews{}}
}

type decision struct {
	namespace, policy string
	to                model.LetterState
}

type decidedLetters struct {
	Letters int      `json:"letters"`
	First   []string `json:"first"`
	reason  string
}

func (d *decidedLetters) count(l *deadletter.Letter) {
	if d.Letters++; len(d.First) < shownLetters {
		d.First = append(d.First, l.ID.String())
	}
}

func (d *decisions) note(p *deadletter.Policy, l *deadletter.Letter) {
	if l.State != model.LetterDiscarded && l.State != model.LetterScheduled {
		return
	}
	d.news.Discarded(l)
	of := decision{l.Namespace, policyName(p), l.State}
	if d.acts[of] == nil {
		d.acts[of] = &decidedLetters{reason: l.Reason}
	}
	d.acts[of].count(l)
}

func (d *decisions) events(now task.Instant) []deadletter.Event { return d.news.Events(now) }

func (d *decisions) store(ctx context.Context, tx engine.Tx, in *desk.Desk) error {
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

type policies struct {
	list []*deadletter.Policy
	rest *deadletter.Policy // nil: letters are left to operators
}

func (in *Inbox) policiesOf(ctx context.Context, namespace string) (policies, error) {
	all, err := in.store.Policies(ctx, namespace)
	return policies{all, in.opts.DefaultPolicy}, err
}

func (p policies) ofSource(s *deadletter.Source) []*deadletter.Policy {
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

func (p policies) of(l *deadletter.Letter) *deadletter.Policy {
	return p.find(l.Namespace, l.Source, l.Origin)
}

func (p policies) find(namespace, source, origin string) *deadletter.Policy {
	list, other := p.list, func(p *deadletter.Policy) bool { return p.Namespace != namespace }
	if slices.ContainsFunc(list, other) {
		list = slices.DeleteFunc(slices.Clone(list), other)
	}
	if found := deadletter.PolicyFor(list, source, origin); found != nil {
		return found
	}
	return p.rest
}

// decide schedules or discards an open letter by its policy, or leaves it with a reason. failed is why the last send
// failed, or "". made collects the decision for the audit trail and listeners.
func (p policies) decide(l *deadletter.Letter, failed string, now task.Instant, made *decisions) {
	of := p.of(l)
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
