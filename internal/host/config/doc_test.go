package config_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/host/config"
)

var links = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)

// TestDocumentation: docs/reference/configuration.md has exactly the existing keys with their defaults and
// meanings, and its example is valid.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../../docs/reference/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	cfg := config.Default()
	keys := map[string]bool{}
	for _, s := range cfg.Settings() {
		keys[s.Key] = true
		row := fmt.Sprintf("| `%s` | ", s.Key)
		if _, isList := s.Value.([]any); !isList {
			row = fmt.Sprintf("| `%s` | `%v` |", s.Key, s.Value)
		}
		at := strings.Index(text, row)
		if at < 0 {
			t.Errorf("the row %q is missing", row)
			continue
		}
		line, _, _ := strings.Cut(text[at:], "\n")
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		said := links.ReplaceAllString(cells[len(cells)-1], "$1")
		if want := config.Meaning(s.Key); said != want {
			t.Errorf("%s: the page says\n%s\nand the program\n%s", s.Key, said, want)
		}
	}
	for line := range strings.Lines(text) {
		if key, ok := strings.CutPrefix(line, "| `"); ok {
			if key, _, _ = strings.Cut(key, "`"); !keys[key] {
				t.Errorf("there is no key %s", key)
			}
		}
	}
	_, example, _ := strings.Cut(text, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if len(load(t, config.Sources{File: write(t, example)}).Keys) != 1 {
		t.Error("the example was not read")
	}
}
