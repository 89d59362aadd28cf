package task_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/taskerhq/tasker/internal/model/task"
)

// graph makes a template from lines such as "c: a b": a step and its dependencies.
func graph(lines ...string) *task.Template {
	t := &task.Template{Name: "t"}
	for _, line := range lines {
		name, deps, _ := strings.Cut(line, ":")
		t.Steps = append(t.Steps, task.StepSpec{Name: name, Handler: "h", Dependencies: strings.Fields(deps)})
	}
	return t
}

func TestLinkFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		graph []string
		want  []task.GraphError
	}{
		{"OneStep", []string{"a"}, nil},
		{"Diamond", []string{"a", "b: a", "c: a", "d: b c"}, nil},
		{"TwoRoots", []string{"a", "b", "c: a b"}, nil},
		{"ForwardReference", []string{"b: a", "a"}, nil},
		{"UnknownDependency", []string{"a: x"}, []task.GraphError{
			{Step: 0, Dependency: 0, Message: `step "a" depends on "x", which is not a step of this template`},
		}},
		{"RepeatedDependency", []string{"a", "b: a a"}, []task.GraphError{
			{Step: 1, Dependency: 1, Message: `step "b" names the dependency "a" twice`},
		}},
		{"DuplicateName", []string{"a", "b", "a: b"}, []task.GraphError{
			{Step: 2, Dependency: -1, Message: `the step name "a" is used twice: steps 1 and 3`},
		}},
		{"DependsOnItself", []string{"a: a"}, []task.GraphError{
			{Step: 0, Dependency: 0, Message: "the dependencies form a cycle: a -> a"},
		}},
		{"CycleOfTwo", []string{"a: b", "b: a"}, []task.GraphError{
			{Step: 1, Dependency: 0, Message: "the dependencies form a cycle: a -> b -> a"},
		}},
		{"CycleBehindAWayIn", []string{"start: a", "a: b", "b: c", "c: d a", "d"}, []task.GraphError{
			{Step: 3, Dependency: 1, Message: "the dependencies form a cycle: a -> b -> c -> a"},
		}},
		{"TwoCycles", []string{"a: b", "b: a", "c: d", "d: c"}, []task.GraphError{
			{Step: 1, Dependency: 0, Message: "the dependencies form a cycle: a -> b -> a"},
			{Step: 3, Dependency: 0, Message: "the dependencies form a cycle: c -> d -> c"},
		}},
		{"AllAtOnce", []string{"a: a x", "a"}, []task.GraphError{
			{Step: 1, Dependency: -1, Message: `the step name "a" is used twice: steps 1 and 2`},
			{Step: 0, Dependency: 1, Message: `step "a" depends on "x", which is not a step of this template`},
			{Step: 0, Dependency: 0, Message: "the dependencies form a cycle: a -> a"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, graph(c.graph...).Link()); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLinkLongCycle(t *testing.T) {
	t.Parallel()
	lines := make([]string, task.MaxSteps)
	path := make([]string, task.MaxSteps)
	for i := range lines {
		lines[i] = fmt.Sprintf("s%d: s%d", i, (i+1)%task.MaxSteps)
		path[i] = fmt.Sprintf("s%d", i)
	}
	faults := graph(lines...).Link()
	want := []task.GraphError{{Step: task.MaxSteps - 1, Dependency: 0,
		Message: "the dependencies form a cycle: " + strings.Join(append(path, "s0"), " -> ")}}
	if diff := cmp.Diff(want, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestLinkParentsAndChildren(t *testing.T) {
	t.Parallel()
	g := graph("d: c b", "a", "b: a", "c: a")
	for range 2 {
		if faults := g.Link(); faults != nil {
			t.Fatal(faults)
		}
	}
	parents, children, sinks := [][]int{}, [][]int{}, []bool{}
	for _, s := range g.Steps {
		parents, children, sinks = append(parents, s.Parents), append(children, s.Children), append(sinks, s.Sink())
	}
	if diff := cmp.Diff([][]int{{3, 2}, nil, {1}, {1}}, parents); diff != "" {
		t.Errorf("parents (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]int{nil, {2, 3}, {0}, {0}}, children); diff != "" {
		t.Errorf("children (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]bool{true, false, false, false}, sinks); diff != "" {
		t.Errorf("sinks (-want +got):\n%s", diff)
	}
}

// A graph whose edges all go one way links without faults; a back edge closes a cycle, whose path the message names.
func TestLinkProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(t, "steps")
		order := rapid.Permutation(indexes(n)).Draw(t, "order") // document order of the steps
		deps := make([][]string, n)
		for i := 1; i < n; i++ {
			for _, p := range rapid.SliceOfNDistinct(rapid.IntRange(0, i-1), 0, min(i, 4), rapid.ID[int]).Draw(t, "parents") {
				deps[i] = append(deps[i], fmt.Sprintf("s%d", p))
			}
		}
		build := func() *task.Template {
			g := &task.Template{Steps: make([]task.StepSpec, n)}
			for i := range n {
				g.Steps[order[i]] = task.StepSpec{Name: fmt.Sprintf("s%d", i), Dependencies: deps[i]}
			}
			return g
		}
		g := build()
		if faults := g.Link(); faults != nil {
			t.Fatalf("a graph without cycles has faults: %v", faults)
		}
		edges := 0
		for i, s := range g.Steps {
			edges += len(s.Parents) - len(s.Children)
			for d, p := range s.Parents {
				if g.Steps[p].Name != s.Dependencies[d] || !slices.Contains(g.Steps[p].Children, i) {
					t.Fatalf("step %s: dependency %s is linked to %s", s.Name, s.Dependencies[d], g.Steps[p].Name)
				}
			}
		}
		if edges != 0 {
			t.Fatalf("parents and children differ by %d", edges)
		}

		low := rapid.IntRange(0, n-2).Draw(t, "low")
		high := rapid.IntRange(low+1, n-1).Draw(t, "high")
		if !slices.Contains(deps[high], fmt.Sprintf("s%d", low)) {
			deps[high] = append(deps[high], fmt.Sprintf("s%d", low))
		}
		deps[low] = append(deps[low], fmt.Sprintf("s%d", high))
		faults := build().Link()
		if len(faults) == 0 {
			t.Fatalf("s%d and s%d depend on each other, but there is no fault", low, high)
		}
		for _, f := range faults {
			checkPath(t, deps, f.Message)
		}
	})
}

func checkPath(t *rapid.T, deps [][]string, message string) {
	path, ok := strings.CutPrefix(message, "the dependencies form a cycle: ")
	if !ok {
		t.Fatalf("fault %q is not a cycle", message)
	}
	names := strings.Split(path, " -> ")
	if len(names) < 2 || names[0] != names[len(names)-1] {
		t.Fatalf("the path %q does not end where it began", path)
	}
	for i, name := range names[:len(names)-1] {
		var step int
		if _, err := fmt.Sscanf(name, "s%d", &step); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(deps[step], names[i+1]) {
			t.Fatalf("in the path %q %s does not depend on %s", path, name, names[i+1])
		}
	}
}

func indexes(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestAdhoc(t *testing.T) {
	t.Parallel()
	a := task.Adhoc("ns", "send-mail")
	want := &task.Template{Namespace: "ns", Name: "send-mail", Adhoc: true,
		Steps: []task.StepSpec{{Name: "send-mail", Handler: "send-mail", Retry: task.DefaultRetry()}}}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
