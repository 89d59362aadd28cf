package crashtest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
)

// Rule names a guarantee.
type Rule string

// The guarantees of Check.
const (
	Lost         Rule = "lost"          // an acknowledged object exists at the end, unchanged
	Unsettled    Rule = "unsettled"     // every task ends, in a state that its callers requested
	Phantom      Rule = "phantom"       // nothing exists that no caller requested
	SplitBatch   Rule = "split batch"   // a batch is stored whole or not at all
	DuplicateKey Rule = "duplicate key" // an idempotency key names one task
	SettledTwice Rule = "settled twice" // a step is settled once, by one report
	WrongResult  Rule = "wrong result"  // a step holds the acknowledged result
	StaleTaken   Rule = "stale taken"   // a report under an old token is refused
	TokenReused  Rule = "token reused"  // tokens grow with every hand-out
	Revived      Rule = "revived"       // a settled step is not handed out again
	RunFailed    Rule = "run failed"    // a begun run does not end as an unstarted one
	TooEarly     Rule = "too early"     // a step runs after its parents, with their results
	BadHistory   Rule = "history"       // the history has everything that happened, and nothing impossible
	BadCounts    Rule = "counts"        // a task's counts are those of its steps
	ServerFault  Rule = "fault"         // the server never reports a bug
)

// Violation is one broken guarantee.
type Violation struct {
	Rule Rule
	Text string
}

// String returns the rule and the text, for the output of a test.
func (v Violation) String() string { return string(v.Rule) + ": " + v.Text }

// Verdict is the result of Check. Only Violations are faults; the counts show whether a run has tested anything: a run
// without lost answers or stale reports proves little.
type Verdict struct {
	Violations []Violation

	Tasks, Steps int // found
	Children     int // found: tasks that carry out steps of others
	Handouts     int // of steps to workers with a journal
	Unknown      int // calls with an unknown effect: the answer was lost
	Duplicates   int // successful executions beside another one of the same step; allowed
	StaleRefused int // reports under a surely stale token, all refused
	Unrecorded   int // hand-outs without history; allowed where a dispatcher keeps leases
	Late         int // hand-outs of settled steps; allowed there, too
	Signals      int // that were accepted
	Taken        int // steps that have taken one of them
	Compensated  int // tasks whose compensation has begun
	Undone       int // tasks that were accepted in a gap and are gone; allowed
	Orphans      int // tasks that exist although the answer to their submission was lost
}

// Count returns how many violations of the rules there are.
func (v *Verdict) Count(rules ...Rule) int {
	n := 0
	for _, found := range v.Violations {
		for _, r := range rules {
			if found.Rule == r {
				n++
			}
		}
	}
	return n
}

// Check compares the answers that callers got with the end state. All callers must have ended, and the server must be
// idle. It reports every violation, and changes neither the journal nor found.
func Check(j *Journal, found []Found) *Verdict {
	c := newChecker(j, found)
	for _, f := range j.Faults {
		c.report(ServerFault, "%s: %s", f.Verb, f.Message)
	}
	c.submissions()
	c.signals()
	for i := range found {
		c.ends(&found[i])
		c.compensation(&found[i])
		c.counts(&found[i])
		c.taskHistory(&found[i])
	}
	c.leases()
	// In any order: rules about one step are independent.
	for _, s := range c.steps {
		c.step(s)
		c.parents(s)
		c.stepHistory(s)
	}
	return c.verdict
}

// checker sorts journal and end state by object.
type checker struct {
	j       *Journal
	found   []Found
	verdict *Verdict

	byRef map[string][]*Found // without children, which have the ref of their parent
	// children by step.
	children map[uuid.UUID][]*Found
	tasks    map[uuid.UUID]*about
	steps    map[uuid.UUID]*stepAbout
}

type about struct {
	found   *Found
	cancels []*Cancel
	acts    []*Act
}

type stepAbout struct {
	step     *tasker.Step
	task     *about
	attempts []*tasker.Attempt // as the history lists them
	byLease  map[int64]*tasker.Attempt

	handouts []*Handout
	reports  []*Report
	acts     []*Act
}

// newChecker sorts journal and end state by task and step, for look-ups by rules. It applies gaps first, so rules need
// not handle them.
func newChecker(j *Journal, found []Found) *checker {
	c := &checker{j: j, found: found, verdict: &Verdict{Tasks: len(found), Handouts: len(j.Handouts)},
		byRef: map[string][]*Found{}, children: map[uuid.UUID][]*Found{},
		tasks: map[uuid.UUID]*about{}, steps: map[uuid.UUID]*stepAbout{}}
	c.j = c.gaps(j, found)
	for i := range found {
		f := &found[i]
		if p := f.Task.Parent; p != nil {
			c.children[p.StepUUID] = append(c.children[p.StepUUID], f)
			c.verdict.Children++
		} else {
			c.byRef[f.Task.CorrelationID] = append(c.byRef[f.Task.CorrelationID], f)
		}
		t := &about{found: f}
		c.tasks[f.Task.TaskUUID] = t
		for k := range f.Steps {
			c.steps[f.Steps[k].StepUUID] = &stepAbout{step: &f.Steps[k], task: t, byLease: map[int64]*tasker.Attempt{}}
		}
		for k := range f.History.Attempts {
			a := &f.History.Attempts[k]
			if s := c.steps[a.StepUUID]; s != nil {
				s.attempts = append(s.attempts, a)
				s.byLease[a.Lease] = a
			}
		}
	}
	c.verdict.Steps = len(c.steps)
	c.sortJournal()
	return c
}

// sortJournal assigns entries to steps and tasks. It drops entries without a found task: a required one is missed
// elsewhere.
func (c *checker) sortJournal() {
	for i := range c.j.Handouts {
		h := &c.j.Handouts[i]
		if s := c.steps[h.Step]; s != nil {
			s.handouts = append(s.handouts, h)
		} else {
			c.report(Lost, "step %s was handed out under token %d and is gone", h.Step, h.Lease)
		}
	}
	for i := range c.j.Reports {
		r := &c.j.Reports[i]
		c.unknown(r.Answer)
		if s := c.steps[r.Step]; s != nil {
			s.reports = append(s.reports, r)
		}
	}
	for i := range c.j.Cancels {
		n := &c.j.Cancels[i]
		c.unknown(n.Answer)
		if t := c.tasks[n.Task]; t != nil {
			t.cancels = append(t.cancels, n)
		}
	}
	for i := range c.j.Acts {
		a := &c.j.Acts[i]
		c.unknown(a.Answer)
		if t, s := c.tasks[a.Task], c.steps[a.Step]; t != nil && s != nil {
			t.acts = append(t.acts, a)
			s.acts = append(s.acts, a)
		}
	}
}

func (c *checker) unknown(a Answer) {
	if !a.Known {
		c.verdict.Unknown++
	}
}

func (c *checker) report(rule Rule, format string, args ...any) {
	c.verdict.Violations = append(c.verdict.Violations, Violation{rule, fmt.Sprintf(format, args...)})
}

// sameJSON ignores white space; a missing document is null.
func sameJSON(a, b json.RawMessage) bool { return bytes.Equal(compact(a), compact(b)) }

// compact removes white space. A missing document is null, as from a server.
func compact(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	var out bytes.Buffer
	if err := json.Compact(&out, raw); err != nil {
		return raw
	}
	return out.Bytes()
}
