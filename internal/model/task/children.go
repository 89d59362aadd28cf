package task

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// ChildSpec says which tasks carry out a step instead of a worker: its child tasks. One of Template and Handler is set.
type ChildSpec struct {
	Template string `json:"template,omitempty"`
	Version  string `json:"version,omitempty"` // "" is the newest one when the step begins
	Handler  string `json:"handler,omitempty"`
	// Context is the expression of the context of a child; "" is the context of the parent, and of a child for each item
	// an object with item and index, which the expression knows too.
	Context string `json:"context,omitempty"`
	// Items is the expression of a list: the step has a child for each item. "" means that it has one child.
	Items string `json:"items,omitempty"`
	// Concurrency is how many children may run at once; 0 means DefaultConcurrency.
	Concurrency int `json:"concurrency,omitempty"`
	// MaxFailed is how many children may fail; Percent makes it a share of all.
	MaxFailed int  `json:"max_failed,omitempty"`
	Percent   bool `json:"percent,omitempty"`
	// FailOnError counts a child in error as failed for good. Without it, the step waits for its repair.
	FailOnError bool `json:"fail_on_error,omitempty"`
	// CountsOnly makes the result of the step the counts of its children, without their results.
	CountsOnly bool `json:"counts_only,omitempty"`
}

const (
	// DefaultConcurrency is how many children of a step run at once where its template does not say.
	DefaultConcurrency = 100
	// MaxChildDepth bounds how deep tasks are children of children: a template may name itself.
	MaxChildDepth = 10
	// MaxChildren bounds the children of a step, whatever the configuration.
	MaxChildren = 100_000
)

// Each reports whether the step has a child for each item of a list.
func (c *ChildSpec) Each() bool { return c.Items != "" }

// Names of an item and its index: in the expression of the context of its child, or in that context itself.
const (
	EachItem  = "item"
	EachIndex = "index"
)

// Names are those that the expression of the context knows beside the names of every expression.
func (c *ChildSpec) Names() []string {
	if c.Each() {
		return []string{EachItem, EachIndex}
	}
	return nil
}

// Target is what the children run, for people.
func (c *ChildSpec) Target() string {
	if c.Handler != "" {
		return c.Handler
	}
	return c.Template
}

// MayFail is how many children may fail, in the words of a template.
func (c *ChildSpec) MayFail() string {
	if c.Percent {
		return strconv.Itoa(c.MaxFailed) + "%"
	}
	return strconv.Itoa(c.MaxFailed)
}

// OnError is what a child in error means for the step, in the words of a template.
func (c *ChildSpec) OnError() string {
	if c.FailOnError {
		return "fail"
	}
	return "wait"
}

// Results is what the result of the step is, in the words of a template.
func (c *ChildSpec) Results() string {
	if c.CountsOnly {
		return "counts"
	}
	return "list"
}

// Width is how many children may run at once.
func (c *ChildSpec) Width() int {
	if c.Concurrency > 0 {
		return c.Concurrency
	}
	return DefaultConcurrency
}

// Tolerated returns how many of total children may fail. A share is rounded down.
func (c *ChildSpec) Tolerated(total int) int {
	if c.Percent {
		return total * c.MaxFailed / 100
	}
	return c.MaxFailed
}

// ChildOf is a child's link to the step that it carries out. It is a part of the child's Meta.
type ChildOf struct {
	Task, Step ID
	Index      int // counted from 0
	Depth      int // 1 for a child of a task that is no child
	// Quiet: the step does not want the result of the child.
	Quiet bool
}

// childOf is ChildOf as it is stored.
type childOf struct {
	Task  string `json:"task"`
	Step  string `json:"step"`
	Index int    `json:"index"`
	Depth int    `json:"depth"`
	Quiet bool   `json:"quiet,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (c ChildOf) MarshalJSON() ([]byte, error) {
	return json.Marshal(childOf{c.Task.String(), c.Step.String(), c.Index, c.Depth, c.Quiet})
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *ChildOf) UnmarshalJSON(text []byte) error {
	var of childOf
	if err := json.Unmarshal(text, &of); err != nil {
		return fmt.Errorf("read the link of a child: %w", err)
	}
	var err error
	*c = ChildOf{Index: of.Index, Depth: of.Depth, Quiet: of.Quiet}
	if c.Task, err = ParseID(of.Task); err != nil {
		return err
	}
	c.Step, err = ParseID(of.Step)
	return err
}

// ChildState is the state of a child as its step counts it.
type ChildState string

// The states of a child. A child in error may be repaired; one that is given up was cancelled, or could not be
// submitted.
const (
	ChildNew     ChildState = "" // not counted yet
	ChildRunning ChildState = "running"
	ChildDone    ChildState = "done"
	ChildErrored ChildState = "error"
	ChildGivenUp ChildState = "given_up"
)

// ChildStateOf returns the state of a child whose task is in a state.
func ChildStateOf(s State) ChildState {
	switch s {
	case Complete, ResolvedManually:
		return ChildDone
	case Errored:
		return ChildErrored
	case Cancelled:
		return ChildGivenUp
	default:
		return ChildRunning
	}
}

// FanOut is the progress of a step through its children.
type FanOut struct {
	Step, Task ID
	// Rev increases with every change of the other fields.
	Rev int
	// Total is the number of children, Unlisted before the list of items has been read.
	Total     int
	Submitted int // the children with an index below it were submitted, or could not be
	// The submitted children by state.
	Running, Done, Errored, GivenUp int
	// Phase is what became of the step because of its children.
	Phase FanPhase
	// Repeated: after a reset, the failed children with an index below it run again.
	Repeated int
	// Bytes is the size of the results of the children together.
	Bytes int
	// Version is that of the children's template, fixed when the step began.
	Version string
	// Fresh: there is something to do that the rows of its children do not show.
	Fresh bool
}

// FanPhase is what became of a step because of its children.
type FanPhase int

// The phases. A step that has failed and is reset leads from FanFailed back to FanOpen. FanOver: its task is undone,
// and nothing below the step runs any more, or will.
const (
	FanOpen   FanPhase = 0
	FanFailed FanPhase = 1
	FanJoined FanPhase = 2
	FanOver   FanPhase = 3
)

// Unlisted is the Total of a fan-out whose list of items has not been read.
const Unlisted = -1

// slot returns the counter of a state; nil for ChildNew.
func (f *FanOut) slot(s ChildState) *int {
	switch s {
	case ChildRunning:
		return &f.Running
	case ChildDone:
		return &f.Done
	case ChildErrored:
		return &f.Errored
	case ChildGivenUp:
		return &f.GivenUp
	default:
		return nil
	}
}

// Count counts the change of a child's state.
func (f *FanOut) Count(from, to ChildState) {
	if at := f.slot(from); at != nil {
		*at--
	}
	if at := f.slot(to); at != nil {
		*at++
	}
}

// Seen counts a child that was marked, with the size of its result. It may be in the state that is counted already.
func (f *FanOut) Seen(counted, now ChildState, size int) {
	if counted != now {
		f.Count(counted, now)
		f.Bytes += size
	}
}

// Again is for a step that waits for its children again, after a reset.
func (f *FanOut) Again() {
	if f.Phase == FanOver {
		f.Phase = FanFailed
	}
}

// AtRest reports whether nothing runs below a step that has ended, or will: it has no child that runs or may be
// repaired. Children with a template may have children of their own, so that somebody has to look at them first.
func (f *FanOut) AtRest(c *ChildSpec) bool {
	return f.Phase == FanOver || f.Running+f.Errored == 0 && (c.Handler != "" || f.Submitted == 0)
}

// Room returns how many children may be submitted now. It is 0 while more children have failed than may: each further
// one would only fail too.
func (f *FanOut) Room(c *ChildSpec) int {
	if f.Total == Unlisted || f.Errored+f.GivenUp > c.Tolerated(f.Total) {
		return 0
	}
	return max(min(f.Total-f.Submitted, c.Width()-f.Running), 0)
}

// Verdict is what follows from the states of the children for their step.
type Verdict int

// The verdicts.
const (
	Going   Verdict = iota // children run, or are still to be submitted
	Stuck                  // too many children are in error, and may be repaired
	Joined                 // the step is complete
	TooMany                // the step has failed: too many children have
)

// Verdict returns what follows from the states of the children.
//
//   - More children have failed for good than may: TooMany, even while others run.
//   - All have ended, and not too many of them badly: Joined.
//   - Children in error would be too many, if they stayed so: Stuck. No further ones are submitted until an operator
//     repairs some, which leads back to Going, or cancels them.
func (f *FanOut) Verdict(c *ChildSpec) Verdict {
	if f.Total == Unlisted {
		return Going
	}
	may, failed, lost := c.Tolerated(f.Total), f.Errored+f.GivenUp, f.GivenUp
	if c.FailOnError {
		lost = failed
	}
	switch {
	case lost > may:
		return TooMany
	case failed > may && f.Running == 0:
		return Stuck
	case f.Submitted < f.Total || f.Running > 0:
		return Going
	default:
		return Joined
	}
}

// Outline is the state of the children in words.
func (f *FanOut) Outline() string {
	if f.Total == Unlisted {
		return "its children are about to be submitted"
	}
	s := fmt.Sprintf("%d of %d children are done, %d run", f.Done, f.Total, f.Running)
	if f.Errored > 0 {
		s += fmt.Sprintf(", %d are in error", f.Errored)
	}
	if f.GivenUp > 0 {
		s += fmt.Sprintf(", %d are given up", f.GivenUp)
	}
	return s
}
