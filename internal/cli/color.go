package cli

import (
	"bytes"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Escape sequences of the eight colours of every terminal, which follow its theme.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	plain  = "\x1b[0m"
)

func (s *session) colorFlag(root *cobra.Command) {
	root.PersistentFlags().StringVar(&s.color, "color", "auto", "color the output: auto, always or never")
	offer(root, "color", "auto", "always", "never")
	f := root.PersistentFlags().Lookup("color")
	f.Value = chosen{f.Value, []string{"auto", "always", "never"}}
}

// colored follows NO_COLOR of https://no-color.org.
func (s *session) colored(isTerminal bool) bool {
	switch s.color {
	case "always":
		return true
	case "never":
		return false
	}
	return isTerminal && s.getenv("NO_COLOR") == "" && s.getenv("TERM") != "dumb"
}

func paint(color, text string) string {
	if color == "" || text == "" {
		return text
	}
	return color + text + plain
}

var (
	stateColumns = []string{"STATE", "STATUS", "RESULT", "OUTCOME", "HEALTH", "TO", "AFTER"}
	quietColumns = []string{"CREATED", "REGISTERED", "FIRST", "LAST", "TIME", "AT", "PRIORITY", "HEARTBEAT"}
)

func paintCell(column, value, text string) string {
	switch {
	case column == "":
		return paint(bold, text)
	case slices.Contains(stateColumns, column):
		return paint(stateColor(value), text)
	case slices.Contains(quietColumns, column):
		return paint(dim, text)
	}
	return text
}

// stateColor is red for failures, yellow for waits, green for success, dim for ends without interest, and "" for
// progress.
func stateColor(state string) string {
	state, _, _ = strings.Cut(state, " ")
	switch state {
	case "error", "failed", "fail", "dead", "halted", "parked", "unhealthy", "stale", "permanently_failed", "DIFFERS",
		"timed_out", "lost", "refused", "conflict":
		return red
	case "pending", "enqueued", "open", "waiting", "waiting_for_retry", "waiting_for_dependencies", "blocked_by_failures",
		"scheduled", "paused", "draining", "cordoned", "warn", "warning", "acknowledged", "probing", "retry", "approaching":
		return yellow
	case "complete", "completed", "ok", "same", "healthy", "active", "alive", "done", "redriven", "applied", "submitted",
		"resolved", "resolved_manually", "manually_resolved", "closed", "succeeded":
		return green
	case "cancelled", "skipped", "discarded", "released", "ignored":
		return dim
	}
	return ""
}

func paintMark(b []byte) []byte {
	for mark, color := range map[string]string{"✓": green, "✗": red} {
		if rest, ok := bytes.CutPrefix(b, []byte(mark)); ok {
			return append([]byte(paint(color, mark)), rest...)
		}
	}
	return b
}
