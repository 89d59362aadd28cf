package scenario_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
)

var update = flag.Bool("update", false, "write what the commands print into the scripts")

func TestScripts(t *testing.T) {
	t.Parallel()
	for _, script := range scripts(t, ".") {
		for i, s := range stores {
			t.Run(script.name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				store, reopen := s.open(t)
				began := time.Now()
				got := run(t, script.text, store, reopen)
				t.Logf("took %s after set-up", time.Since(began))
				script.check(t, got, i == 0)
			})
		}
	}
}

// scriptFile is a script of testdata.
type scriptFile struct{ name, file, text string }

// scripts reads the scripts of a folder of testdata; "." is testdata itself.
func scripts(t *testing.T, folder string) (list []scriptFile) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, error %v", len(files), err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, scriptFile{strings.TrimSuffix(filepath.Base(file), ".txt"), file, string(src)})
	}
	return list
}

// check compares what was printed with the script; with -update, the first store writes it instead.
func (s scriptFile) check(t *testing.T, got string, first bool) {
	t.Helper()
	if !*update {
		compare(t, s.file, s.text, got)
		return
	}
	if !first {
		return
	}
	if err := os.WriteFile(s.file, []byte(got), 0o644); err != nil {
		t.Fatal(err)
	}
}

func compare(t *testing.T, file, want, got string) {
	t.Helper()
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range w {
		if i >= len(g) || w[i] != g[i] {
			t.Errorf("%s:%d: want %q\nwhat it prints from there on:\n%s", file, i+1, w[i],
				strings.Join(g[min(i, len(g)):min(i+12, len(g))], "\n"))
			return
		}
	}
	if len(g) > len(w) {
		t.Errorf("%s prints more than it should: %q", file, g[len(w):])
	}
}

// statement is one command of a script and the lines that it must print.
type statement struct {
	line  int
	text  []string
	words []string
	body  string
	want  []string
}

func (s statement) printed(out []string, failed bool) string {
	var b bytes.Buffer
	for _, l := range s.text {
		b.WriteString(l + "\n")
	}
	if len(s.want) > 0 || failed { // an error nobody expects shows too
		if len(out) == 0 {
			out = []string{"nothing"}
		}
		for _, l := range out {
			b.WriteString(strings.TrimRight("> "+l, " ") + "\n")
		}
	}
	return b.String()
}

// parse cuts a script into statements and the tail behind the last one.
func parse(src string) (list []statement, tail string, err error) {
	var pending []string
	lines := strings.Split(strings.TrimSuffix(src, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		switch {
		case strings.TrimSpace(l) == "" || strings.HasPrefix(l, "#"):
			pending = append(pending, l)
		case strings.HasPrefix(l, ">"), strings.HasPrefix(l, "\t"), strings.HasPrefix(l, " "):
			return nil, "", fmt.Errorf("line %d: no command above it", i+1)
		default:
			s := statement{line: i + 1, text: append(pending, l)}
			pending = nil
			if s.words, err = split(l); err != nil {
				return nil, "", fmt.Errorf("line %d: %w", i+1, err)
			}
			for ; i+1 < len(lines) && strings.HasPrefix(lines[i+1], "    "); i++ {
				s.text = append(s.text, lines[i+1])
				s.body += strings.TrimPrefix(lines[i+1], "    ") + "\n"
			}
			for ; i+1 < len(lines) && strings.HasPrefix(lines[i+1], ">"); i++ {
				s.want = append(s.want, lines[i+1])
			}
			list = append(list, s)
		}
	}
	for _, l := range pending {
		tail += l + "\n"
	}
	return list, tail, nil
}

// split cuts a line into words; single quotes hold one together.
func split(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	quoted, begun := false, false
	for _, r := range line {
		switch {
		case r == '\'':
			quoted, begun = !quoted, true
		case r == ' ' && !quoted:
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quoted {
		return nil, errors.New("a quote is not closed")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}

func run(t *testing.T, src string, store engine.Database, reopen func() engine.Database) string {
	t.Helper()
	list, tail, err := parse(src)
	if err != nil {
		t.Fatal(err)
	}
	in := newInterpreter(t, store, reopen)
	return carryOut(t, list, in.do) + tail
}

func carryOut(t *testing.T, list []statement, do func(statement) ([]string, error)) string {
	t.Helper()
	var b strings.Builder
	for _, s := range list {
		out, err := do(s)
		var broken scriptError
		if errors.As(err, &broken) {
			t.Fatalf("line %d: %s: %v", s.line, strings.Join(s.words, " "), err)
		}
		if err != nil {
			out = append(out, describe(err))
		}
		b.WriteString(s.printed(out, err != nil))
	}
	return b.String()
}

// args are the words of a command: those without = by place, the others by key.
type args struct {
	places []string
	keys   map[string]string
	used   map[string]bool
}

func newArgs(words []string) *args {
	a := &args{keys: map[string]string{}, used: map[string]bool{}}
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok && !strings.ContainsAny(k, `{"`) {
			a.keys[k] = v
		} else {
			a.places = append(a.places, w)
		}
	}
	return a
}

func (a *args) get(key string) (string, bool) {
	a.used[key] = true
	v, ok := a.keys[key]
	return v, ok
}

func (a *args) text(key string) string {
	v, _ := a.get(key)
	return v
}

func (a *args) list(key string) []string {
	if v, ok := a.get(key); ok && v != "" {
		return strings.Split(v, ",")
	}
	return nil
}

// flag removes a word from the places.
func (a *args) flag(word string) bool {
	i := slices.Index(a.places, word)
	if i >= 0 {
		a.places = slices.Delete(a.places, i, i+1)
	}
	return i >= 0
}

// unknown returns an error for a key that the command did not read.
func (a *args) unknown() error {
	for k := range a.keys {
		if !a.used[k] {
			return scriptError{fmt.Errorf("unknown key %q", k)}
		}
	}
	return nil
}

type scriptError struct{ error }

func badScript(format string, args ...any) error { return scriptError{fmt.Errorf(format, args...)} }
