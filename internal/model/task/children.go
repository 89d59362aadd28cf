package task

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// ChildSpec defines the child tasks of a step by Template or Handler.
type ChildSpec struct {
	Template string `json:"template,omitempty"`
	Version  string `json:"version,omitempty"` // "" is the newest one when the step begins
	Handler  string `json:"handler,omitempty"`
	// Context is the expression of a child's context. "" is the parent's or, with Items, an object with item and
	// index.
	Context string `json:"context,omitempty"`
	// Items is the expression of a list with an item for each child; "" makes one child.
	Items       string `json:"items,omitempty"`
	Concurrency int    `json:"concurrency,omitempty"`
	MaxFailed   int    `json:"max_failed,omitempty"`
	Percent     bool   `json:"percent,omitempty"`
	// FailOnError counts a child in error as failed; otherwise the step waits for its repair.
	FailOnError bool `json:"fail_on_error,omitempty"`
	CountsOnly  bool `json:"counts_only,omitempty"`
}

// The bounds of children.
const (
	DefaultConcurrency = 100
	// MaxChildDepth stops a template that names itself.
	MaxChildDepth = 10
	MaxChildren   = 100_000
)

// Each reports whether the step has a child for each item of a list.
func (c *ChildSpec) Each() bool { return c.Items != "" }

// Names of an item and its index in expressions and contexts.
const (
	EachItem  = "item"
	EachIndex = "index"
)

// Names are the additional names in the expression of the context.
func (c *ChildSpec) Names() []string {
	if c.Each() {
		return []string{EachItem, EachIndex}
	}
	return nil
}

// Target names the template or handler, for people.
func (c *ChildSpec) Target() string {
	if c.Handler != "" {
		return c.Handler
	}
	return c.Template
}

// MayFail describes the tolerated failures, for people.
func (c *ChildSpec) MayFail() string {
	if c.Percent {
		return strconv.Itoa(c.MaxFailed) + "%"
	}
	return strconv.Itoa(c.MaxFailed)
}

// OnError is the template's word for on_error.
func (c *ChildSpec) OnError() string {
	if c.FailOnError {
		return "fail"
	}
	return "wait"
}

// Results is the template's word for the kind of result.
func (c *ChildSpec) Results() string {
	if c.CountsOnly {
		return "counts"
	}
	return "list"
}

// Width bounds the running children.
func (c *ChildSpec) Width() int {
	if c.Concurrency > 0 {
		return c.Concurrency
	}
	return DefaultConcurrency
}

// Tolerated returns how many of total children may fail, rounded down.
func (c *ChildSpec) Tolerated(total int) int {
	if c.Percent {
		return total * c.MaxFailed / 100
	}
	return c.MaxFailed
}

// ChildOf links a child to its step, in the child's Meta.
type ChildOf struct {
	Task, Step ID
	Index      int
	Depth      int // 1 for a child of a top-level task
	// Quiet: the step ignores the child's result.
	Quiet bool
}

type childOf struct {
	Task  string `json:"task"`
	Step  string `json:"step"`
	Index int    `json:"index"`
	Depth int    `json:"depth"`
	Quiet bool   `json:"quiet,omitempty"`
}

// MarshalJSON writes the stored form.
func (c ChildOf) MarshalJSON() ([]byte, error) {
	return json.Marshal(childOf{c.Task.String(), c.Step.String(), c.Index, c.Depth, c.Quiet})
}

// UnmarshalJSON reads the stored form.
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

// ChildState is a child's state in the counts of its step.
type ChildState string

// The states of a child. A child in error may be repaired; ChildGivenUp was cancelled or not submitted.
const (
	ChildNew     ChildState = ""
	ChildRunning ChildState = "running"
	ChildDone    ChildState = "done"
	ChildErrored ChildState = "error"
	ChildGivenUp ChildState = "given_up"
)

// ChildStateOf converts the state of a child's task.
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

// FanOut is the progress of a step's children.
type FanOut struct {
	Step, Task ID
	Rev        int
	// Total is Unlisted before the list of items has been read.
	Total                           int
	Submitted                       int // lower indexes were submitted, or cannot be
	Running, Done, Errored, GivenUp int
	Phase                           FanPhase
	// Repeated means that after a reset failed children below this index run again.
	Repeated int
	Bytes    int
	Version  string
	// Fresh marks work that the children's rows do not show.
	Fresh bool
}

// FanPhase is the effect of a step's children on it.
type FanPhase int

// The phases. A reset leads from FanFailed back to FanOpen. FanOver means that the task is undone, and nothing below
// the step runs or will run.
const (
	FanOpen   FanPhase = 0
	FanFailed FanPhase = 1
	FanJoined FanPhase = 2
	FanOver   FanPhase = 3
)

// Unlisted is the Total of an unread list.
const Unlisted = -1

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

// Count counts a child's change of state.
func (f *FanOut) Count(from, to ChildState) {
	if at := f.slot(from); at != nil {
		*at--
	}
	if at := f.slot(to); at != nil {
		*at++
	}
}

// Seen counts a marked child with the size of its result. The state may be counted already.
func (f *FanOut) Seen(counted, now ChildState, size int) {
	if counted != now {
		f.Count(counted, now)
		f.Bytes += size
	}
}

// Again makes a reset step wait for its children again.
func (f *FanOut) Again() {
	if f.Phase == FanOver {
		f.Phase = FanFailed
	}
}

// AtRest reports whether no child of an ended step runs or may be repaired. Children with a template may have
// children, which the caller must check.
func (f *FanOut) AtRest(c *ChildSpec) bool {
	return f.Phase == FanOver || f.Running+f.Errored == 0 && (c.Handler != "" || f.Submitted == 0)
}

// Room returns how many children may be submitted now, 0 while too many have failed.
func (f *FanOut) Room(c *ChildSpec) int {
	if f.Total == Unlisted || f.Errored+f.GivenUp > c.Tolerated(f.Total) {
		return 0
	}
	return max(min(f.Total-f.Submitted, c.Width()-f.Running), 0)
}

// Verdict is the effect of the children's states on their step.
type Verdict int

// The verdicts.
const (
	Going Verdict = iota
	Stuck         // too many children are in error, and repairable
	Joined
	TooMany
)

// Verdict evaluates the children's states:
//
//   - TooMany: more children failed permanently than may, even while others run.
//   - Joined: all have ended, and few enough of them badly.
//   - Stuck: the children in error would be too many. No more are submitted until an operator repairs or cancels some.
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

// Outline describes the state of the children.
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
