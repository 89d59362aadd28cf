package archtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/taskerhq/tasker/internal/model/task"
)

// TestHelloWorld: the first program in the README is the one that runs.
func TestHelloWorld(t *testing.T) {
	t.Parallel()
	source := read(t, "embedded/example_test.go")
	at := strings.Index(source, "func Example() {")
	if at < 0 {
		t.Fatal("embedded/example_test.go has no Example")
	}
	program := strings.TrimSpace(source[at:])
	if !strings.Contains(read(t, "README.md"), "```go\n"+program+"\n```") {
		t.Errorf("README.md does not show the Example of embedded/example_test.go:\n%s", program)
	}
	body := strings.Split(program[:strings.Index(program, "// Output")], "\n")
	if n := len(body) - 2; n > 15 { // the func line before, an empty piece after
		t.Errorf("the hello world has %d lines of body; more than 15 is no hello world", n)
	}
}

var quoted = regexp.MustCompile("`([A-Za-z_]+)`")

// TestGuaranteesAreShown: every test and script that docs/concepts/guarantees.md names exists.
func TestGuaranteesAreShown(t *testing.T) {
	t.Parallel()
	var tests strings.Builder
	files(t, ".go", func(file string, content []byte) {
		if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/storetest/") {
			tests.Write(content)
		}
	})
	named := 0
	for paragraph := range strings.SplitSeq(read(t, "docs/concepts/guarantees.md"), "\n\n") {
		list, ok := strings.CutPrefix(strings.TrimSpace(paragraph), "Shown by:")
		if !ok {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(list, -1) {
			named++
			name := m[1]
			_, script := os.Stat(filepath.Join(top, "internal/engine/scenario/testdata", name+".txt"))
			_, dir := os.Stat(filepath.Join(top, "internal", name))
			switch {
			case strings.HasPrefix(name, "Test") && strings.Contains(tests.String(), "func "+name+"("):
			case strings.Contains(tests.String(), `{"`+name+`", `):
			case script == nil, dir == nil:
			default:
				t.Errorf("docs/concepts/guarantees.md: there is no test, case or script %s", name)
			}
		}
	}
	if named < 50 {
		t.Errorf("docs/concepts/guarantees.md names %d tests; the list is not read as it should be", named)
	}
}

// TestGlossaryHasTheStates: the glossary has the code's states.
func TestGlossaryHasTheStates(t *testing.T) {
	t.Parallel()
	_, states, ok := strings.Cut(read(t, "docs/concepts/glossary.md"), "## States\n")
	if !ok {
		t.Fatal("docs/concepts/glossary.md has no chapter States")
	}
	tasks, steps, _ := strings.Cut(states, "Steps:")
	for _, s := range task.States {
		if !strings.Contains(tasks, "`"+string(s)+"`") {
			t.Errorf("docs/concepts/glossary.md does not have the task state %s", s)
		}
	}
	for _, s := range task.StepStates {
		if !strings.Contains(steps, "`"+string(s)+"`") {
			t.Errorf("docs/concepts/glossary.md does not have the step state %s", s)
		}
	}
}

// TestMakefileHasTheTargets: targets named in the documents exist.
func TestMakefileHasTheTargets(t *testing.T) {
	t.Parallel()
	makefile := read(t, "Makefile")
	for _, target := range []string{"help", "build", "test", "check", "race", "lint", "fuzz", "bench", "demo", "clean"} {
		if !strings.Contains(makefile, "\n"+target+":") ||
			!regexp.MustCompile(`(?m)^`+target+`:.* ## \S`).MatchString(makefile) {
			t.Errorf("the Makefile has no target %s with a word about it", target)
		}
	}
	if !strings.Contains(read(t, ".ci/run"), "make test") {
		t.Error(".ci/run does not run make test, which README.md promises")
	}
}

// TestBenchmarksCanBeRepeated: a target of the Makefile runs the commands behind the numbers.
func TestBenchmarksCanBeRepeated(t *testing.T) {
	t.Parallel()
	makefile, n := read(t, "Makefile"), 0
	servers := strings.NewReplacer("postgres://...", `"$(DB)"`, "amqp://...", `"$(RABBITMQ)"`)
	for line := range strings.Lines(read(t, "docs/concepts/benchmarks.md")) {
		target := "\tbin/" + servers.Replace(line)
		if strings.HasPrefix(line, "cd proof && go run ./bench/experiments") {
			target = strings.Replace("\t"+line, "go run", "$(GO) run", 1)
		} else if !strings.HasPrefix(line, "tasker bench") {
			continue
		}
		if n++; !strings.Contains(makefile, target) {
			t.Errorf("no target of the Makefile runs %q", strings.TrimSpace(line))
		}
	}
	if n == 0 {
		t.Error("docs/concepts/benchmarks.md shows no command")
	}
}

// TestArchitectureHasThePackages: docs/concepts/architecture.md has the real tree.
func TestArchitectureHasThePackages(t *testing.T) {
	t.Parallel()
	doc := read(t, "docs/concepts/architecture.md")
	for _, p := range packages(t) {
		name := p.short()
		if name != "." && !strings.Contains(doc, "\n"+name+"/ ") {
			t.Errorf("docs/concepts/architecture.md does not say what %s is for", name)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^((?:cmd|internal|embedded)[a-z/]*)/ `).FindAllStringSubmatch(doc, -1) {
		find(t, m[1])
	}
}

// TestMarkdownLines limits prose to 120 characters. Code blocks show real output, and rows of tables cannot be broken.
func TestMarkdownLines(t *testing.T) {
	t.Parallel()
	const limit = 120
	files(t, ".md", func(file string, content []byte) {
		inCode := false
		number := 0
		for line := range strings.Lines(string(content)) {
			number++
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				inCode = !inCode
			}
			if inCode || strings.HasPrefix(strings.TrimSpace(line), "|") {
				continue
			}
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > limit {
				t.Errorf("%s:%d has %d characters; the limit is %d", file, number, n, limit)
			}
		}
	})
}
