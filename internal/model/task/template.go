package task

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/limit"
)

// Template is an immutable version of a workflow. Adhoc is the single step of a task submitted by handler.
type Template struct {
	DefID       int64
	Namespace   string
	Name        string
	Version     string // empty when Adhoc
	Adhoc       bool
	Description string
	Priority    *int
	InputSchema []byte
	Lifecycle   Lifecycle
	DispatchTTL time.Duration
	Steps       []StepSpec
	// Sensitive are JSON pointers to context values for permitted keys only. A segment * matches every member and
	// element.
	Sensitive []string
	// Concurrency and RateLimit are shared by the steps without their own; nil is no limit.
	Concurrency *limit.Spec
	RateLimit   *limit.Spec
	Unique      *Unique
	// Source is the registered document, Fingerprint the SHA-256 (hex) of its canonical content.
	Source      string
	Fingerprint string
	CreatedAt   time.Time

	// Link sets the following fields. Cycle names the steps that wait for each other: registration refuses cycles,
	// but the store may contain one.
	Cycle       string
	Limited     bool
	HasChildren bool
	// Controlled means that the engine handles a step before it is ready; see StepSpec.Special.
	Controlled  bool
	Compensated bool
	Unread      string
}

// Lifecycle bounds a task's time in one state. 0 is the server's default, for MaxDuration no bound.
type Lifecycle struct {
	MaxWaitingForDependencies time.Duration
	MaxWaitingForRetry        time.Duration
	MaxStepsInProcess         time.Duration
	MaxDuration               time.Duration
}

// StepSpec is one step of a template.
type StepSpec struct {
	Name           string
	Description    string
	Handler        string // "" for a step without a worker
	Wait           *Wait
	Initialization []byte
	Dependencies   []string
	Retry          Retry
	Timeout        time.Duration // 0 takes the priority level's
	Capabilities   []string      // sorted, no duplicates
	Priority       *int          // nil takes the task's
	// DispatchTTL bounds a dispatched step's wait in its worker's queue; 0 takes the template's.
	DispatchTTL time.Duration
	Concurrency *limit.Spec
	RateLimit   *limit.Spec
	When        string
	OnFailure   bool

	Tasks *ChildSpec

	// Gates of the step's limits, in passing order; Link sets them.
	Gates []limit.Gate
	// Parents and Children are dependencies as indexes into Steps; Link sets them. Dependencies of compensation steps
	// on other steps are in Undoes instead.
	Parents  []int
	Children []int
	Undoes   []int
}

// Sink reports whether no step depends on it.
func (s StepSpec) Sink() bool { return len(s.Children) == 0 }

// Yields reports whether the step's result is one of its task: the step ends a branch. Compensation steps yield
// nothing, so adding some changes no result.
func (s StepSpec) Yields() bool { return s.Sink() && !s.OnFailure }

// MaxSteps bounds the steps of a template.
const MaxSteps = 1000

// GraphError is a fault of a template's graph. Dependency is an index into the dependencies of Step, or -1.
type GraphError struct {
	Step       int
	Dependency int
	Message    string
}

// Link resolves the dependencies and returns every fault: duplicate names, unknown and repeated dependencies,
// self-dependencies, cycles with their path. Do not use a template with faults.
func (t *Template) Link() []GraphError {
	var faults []GraphError
	index := make(map[string]int, len(t.Steps))
	for i, s := range t.Steps {
		if first, dup := index[s.Name]; dup {
			faults = append(faults,
				GraphError{i, -1, fmt.Sprintf("the step name %q is used twice: steps %d and %d", s.Name, first+1, i+1)})
			continue
		}
		index[s.Name] = i
	}
	for i := range t.Steps {
		t.Steps[i].Parents, t.Steps[i].Children, t.Steps[i].Undoes = nil, nil, nil
	}
	for i := range t.Steps {
		seen := map[string]bool{}
		for d, name := range t.Steps[i].Dependencies {
			p, known := index[name]
			switch {
			case !known:
				faults = append(faults,
					GraphError{i, d, fmt.Sprintf("step %q depends on %q, which is not a step of this template", t.Steps[i].Name,
						name)})
				continue
			case seen[name]:
				faults = append(faults,
					GraphError{i, d, fmt.Sprintf("step %q names the dependency %q twice", t.Steps[i].Name, name)})
				continue
			}
			seen[name] = true
			if message := t.connect(i, p); message != "" {
				faults = append(faults, GraphError{i, d, message})
			}
		}
	}
	t.linkGates()
	t.HasChildren = slices.ContainsFunc(t.Steps, func(s StepSpec) bool { return s.Tasks != nil })
	t.linkControl()
	circles := t.cycles()
	t.Cycle = ""
	if len(circles) > 0 {
		t.Cycle = circles[0].Message
	}
	return append(faults, circles...)
}

func (t *Template) connect(i, p int) string {
	from, to := &t.Steps[i], &t.Steps[p]
	switch {
	case to.OnFailure && !from.OnFailure:
		return fmt.Sprintf("step %q cannot depend on %q, which runs only after a failure", from.Name, to.Name)
	case from.OnFailure && !to.OnFailure:
		from.Undoes = append(from.Undoes, p)
	default:
		from.Parents, to.Children = append(from.Parents, p), append(to.Children, i)
	}
	return ""
}

func (t *Template) cycles() []GraphError {
	const (
		unseen = iota
		onPath
		done
	)
	var (
		faults []GraphError
		mark   = make([]int, len(t.Steps))
		path   []int
		visit  func(i int)
	)
	visit = func(i int) {
		mark[i] = onPath
		path = append(path, i)
		for _, p := range t.Steps[i].Parents {
			switch mark[p] {
			case unseen:
				visit(p)
			case onPath:
				faults = append(faults, t.cycleFault(path, p))
			}
		}
		path = path[:len(path)-1]
		mark[i] = done
	}
	for i := range t.Steps {
		if mark[i] == unseen {
			visit(i)
		}
	}
	return faults
}

func (t *Template) cycleFault(path []int, back int) GraphError {
	start := 0
	for path[start] != back {
		start++
	}
	var names []string
	for _, i := range path[start:] {
		names = append(names, t.Steps[i].Name)
	}
	names = append(names, t.Steps[back].Name)
	last := path[len(path)-1]
	dep := slices.Index(t.Steps[last].Dependencies, t.Steps[back].Name)
	return GraphError{last, dep, "the dependencies form a cycle: " + strings.Join(names, " -> ")}
}

// Adhoc returns the template of a task submitted by handler.
func Adhoc(namespace, handler string) *Template {
	t := &Template{Namespace: namespace, Name: handler, Adhoc: true,
		Steps: []StepSpec{{Name: handler, Handler: handler, Retry: DefaultRetry()}}}
	t.Link()
	return t
}
