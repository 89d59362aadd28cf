package config_test

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/checks/reference"
	"github.com/taskerhq/tasker/internal/host/config"
)

var _ = flag.Bool("update", false, "rewrite the generated part of docs/reference/configuration.md")

// TestBoundsReference compares the bounds in docs/reference/configuration.md with the errors of the checks.
func TestBoundsReference(t *testing.T) {
	t.Parallel()
	var rows strings.Builder
	cfg := config.Default()
	for _, s := range cfg.Settings() {
		if bound := boundOf(s); bound != "" {
			fmt.Fprintf(&rows, "| `%s` | %s |\n", s.Key, bound)
		}
	}
	reference.Check(t, "configuration.md", "| Key | Bounds |\n|---|---|\n"+rows.String())
}

// boundOf returns the check's error for impossible values: "" for other settings, and for those that must only be
// positive.
func boundOf(s config.Setting) string {
	values := []string{"-2", "999999999999"}
	switch v := s.Value.(type) {
	case []any, bool:
		return ""
	case string:
		if v == "true" || v == "false" || v == "" || strings.Trim(v, "0123456789.smhd") != "" {
			return ""
		}
		if _, err := strconv.ParseFloat(v, 64); err != nil {
			values = []string{"-2s", "99999d"}
		}
	}
	for _, value := range values {
		_, err := config.Load(config.Sources{Environ: []string{s.Variable + "=" + value}})
		var e *tasker.Error
		if !errors.As(err, &e) {
			continue
		}
		for _, d := range e.Details {
			key, bound, ok := strings.Cut(d.Message, " must ")
			if ok && strings.TrimSuffix(key, ":") == s.Key {
				bound, _, _ = strings.Cut(strings.Replace(bound, "be ", "", 1), ", not ")
				if bound != "positive" { // no maximum
					return strings.TrimPrefix(bound, "from ")
				}
			}
		}
	}
	return ""
}
