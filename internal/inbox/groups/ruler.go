package groups

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/task"
)

// RuleCompiler compiles the expressions of a rule. Problems have JSON pointers, line and column.
type RuleCompiler func(r *deadletter.Rule) (RuleProgram, []task.Problem)

// RuleProgram is a compiled rule. It is safe for concurrent use, and depends on the facts alone.
type RuleProgram interface {
	Decide(f *deadletter.Facts) (matched bool, keys []string, err error)
	Cost() int // upper bound; see maxRuleCost
}

const (
	// rulesFresh is how long rules are used before they are read again.
	rulesFresh  = time.Second
	maxRuleSets = 1000
	// maxSplits bounds consecutive splits for one failure.
	maxSplits = 8
)

// Ruler applies rules to fingerprints. It is safe for concurrent use. Each second it reads all rules of a namespace and
// compares them whole, so it notices changes by other nodes, a failover and a restored database. It compiles only
// changed rules.
type Ruler struct {
	rows    Store
	compile RuleCompiler

	mu   sync.Mutex
	sets map[string]*ruleSet
}

var _ engine.Grouper = (*Ruler)(nil)

// NewRuler returns a Ruler.
func NewRuler(store Store, compile RuleCompiler) *Ruler {
	return &Ruler{rows: store, compile: compile, sets: map[string]*ruleSet{}}
}

// ruleSet is the rules of a namespace in order. It is immutable.
type ruleSet struct {
	readAt task.Instant
	rules  []*compiledRule
	splits bool
}

type compiledRule struct {
	rule    *deadletter.Rule
	program RuleProgram

	mu     sync.Mutex
	faults RuleFaults
}

// RuleFaults are failed evaluations in this process, since its start or the rule's last change.
type RuleFaults struct {
	Count int64
	Last  string // "" for none
}

// Print implements engine.Grouper. It skips and counts a rule that fails: the failure is stored in any case.
func (r *Ruler) Print(ctx context.Context, tx engine.Tx, namespace string, print failure.Print,
	facts func() deadletter.Facts, now task.Instant,
) (failure.Print, error) {
	set, err := r.set(ctx, tx, namespace, now)
	if err != nil || len(set.rules) == 0 {
		return print, err
	}
	f := facts()
	return set.print(namespace, print, &f), nil
}

// print applies the first rule that decides, and then, a bounded number of times, the splits of the resulting group.
// Splits of the failure's group by the version before still apply, and go first.
func (s *ruleSet) print(namespace string, print failure.Print, f *deadletter.Facts) failure.Print {
	if ruled, ok := s.first(0, print, f); ok {
		print = ruled
	}
	for range maxSplits {
		if !s.splits {
			break
		}
		ruled, ok := print, false
		if before := deadletter.GroupBefore(namespace, print); before != 0 { // 0 would mean the rules for all
			ruled, ok = s.first(before, print, f)
		}
		if !ok {
			ruled, ok = s.first(deadletter.GroupOf(namespace, print), print, f)
		}
		if !ok {
			break
		}
		print = ruled
	}
	return print
}

func (s *ruleSet) first(within deadletter.GroupID, print failure.Print, f *deadletter.Facts) (failure.Print, bool) {
	for _, c := range s.rules {
		if c.rule.Within == within {
			if ruled, ok := c.apply(print, f); ok {
				return ruled, true
			}
		}
	}
	return print, false
}

func (c *compiledRule) apply(print failure.Print, f *deadletter.Facts) (failure.Print, bool) {
	if c.program == nil {
		return print, false
	}
	matched, keys, err := c.program.Decide(f)
	if err != nil {
		c.failed(err.Error())
	}
	if err != nil || !matched {
		return print, false
	}
	return print.Ruled(c.rule.Name, c.rule.Since, keys, c.rule.Title), true
}

func (c *compiledRule) failed(message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults.Count++
	c.faults.Last = message
}

// set returns the rules of a namespace. It reads them if they may have changed, or if the clock has gone back, as after
// a failover.
func (r *Ruler) set(ctx context.Context, tx engine.Tx, namespace string, now task.Instant) (*ruleSet, error) {
	r.mu.Lock()
	known := r.sets[namespace]
	r.mu.Unlock()
	if known != nil && known.readAt > 0 && now >= known.readAt && now < known.readAt.Add(rulesFresh) {
		return known, nil
	}
	// In the transaction of the failure, so that the rules are those that its commit sees.
	rules, err := r.rows.RulesInForce(ctx, tx, namespace)
	if err != nil {
		return nil, err
	}
	next := r.prepare(known, rules)
	next.readAt = now
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sets) >= maxRuleSets {
		clear(r.sets)
	}
	r.sets[namespace] = next
	return next, nil
}

func (r *Ruler) prepare(known *ruleSet, rules []*deadletter.Rule) *ruleSet {
	next := &ruleSet{}
	for _, rule := range rules {
		c := known.find(rule)
		if c == nil {
			c = &compiledRule{rule: rule}
			if program, problems := r.compile(rule); len(problems) == 0 {
				c.program = program
			} else { // stored by a newer version
				c.failed("the rule cannot be compiled by this node: " + problems[0].Location + " " + problems[0].Message)
			}
		}
		next.rules, next.splits = append(next.rules, c), next.splits || rule.Within != 0
	}
	return next
}

func (s *ruleSet) find(rule *deadletter.Rule) *compiledRule {
	if s != nil {
		for _, c := range s.rules {
			if reflect.DeepEqual(c.rule, rule) {
				return c
			}
		}
	}
	return nil
}

func (r *Ruler) faults(of *deadletter.Rule) RuleFaults {
	r.mu.Lock()
	c := r.sets[of.Namespace].find(of)
	r.mu.Unlock()
	if c == nil {
		return RuleFaults{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.faults
}

// forget makes the next failure of a namespace read the rules again.
func (r *Ruler) forget(namespace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if set := r.sets[namespace]; set != nil {
		stale := *set
		stale.readAt = 0
		r.sets[namespace] = &stale
	}
}
