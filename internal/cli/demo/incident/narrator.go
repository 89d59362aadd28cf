package incident

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/taskerhq/tasker/deadletters"
)

// narrator writes the story for people, nothing without an out. It ignores write errors, which are no reason to
// stop.
type narrator struct {
	out     io.Writer
	program string // how to type it; "" is "tasker"
	server  string // for the flag --server, if any
	steps   int
}

func (t *narrator) step(title string) {
	t.steps++
	t.write(fmt.Sprintf("%d. %s\n\n", t.steps, title))
}

func (t *narrator) say(format string, args ...any) { t.write(fmt.Sprintf(format, args...) + "\n\n") }

func (t *narrator) command(args string) {
	line := "$ " + cmp.Or(t.program, "tasker") + " " + args
	if t.server != "" {
		line += " --server " + t.server
	}
	t.write(line + "\n\n")
}

func (t *narrator) groups(groups []deadletters.Group) {
	if len(groups) == 0 {
		t.say("No groups.")
		return
	}
	rows := [][]string{{"GROUP", "OPEN", "WHERE", "TITLE"}}
	for i := range groups {
		g := &groups[i]
		rows = append(rows, []string{g.GroupID, number(int(g.OpenLetters)), g.Fingerprint.Where, g.Title})
	}
	t.table(rows)
}

func (t *narrator) parts(parts []deadletters.Part) {
	rows := [][]string{{"PART", "VALUE", "FROM"}}
	for _, p := range parts {
		rows = append(rows, []string{p.Name, p.Value, p.From})
	}
	t.table(rows)
}

func (t *narrator) wave(r *deadletters.Redrive) {
	t.write(fmt.Sprintf("  wave %d: %s sent, observing\n", r.Wave, number(r.WaveSent)))
}

func (t *narrator) state(r *deadletters.Redrive) {
	t.write(fmt.Sprintf("  %s: %s of %s sent, %s came back\n\n", r.State, number(r.Counts.Decided()), number(r.Total),
		number(r.Counts.Returned)))
}

func (t *narrator) table(rows [][]string) {
	if t.out == nil {
		return
	}
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(w, "  "+strings.Join(r, "\t"))
	}
	_ = w.Flush()
	t.write("\n")
}

func (t *narrator) write(s string) {
	if t.out != nil {
		_, _ = io.WriteString(t.out, s)
	}
}

func number(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", number(n/1000), n%1000)
}
