package demo

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/taskerhq/tasker"
)

// WriteText writes the summary for people: counts by state, failures by cause, and commands to type next.
func (s Summary) WriteText(w io.Writer) error {
	var b strings.Builder
	s.writeCounts(&b)
	s.writeFailures(&b)
	s.writeNext(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// The lines that must be 0 are always shown.
func (s Summary) writeCounts(b *strings.Builder) {
	fmt.Fprintf(
		b,
		"%s bird-strike reports went through %s %s in %.1f s: %s tasks/s, %s steps/s\n\n",
		grouped(
			s.Tasks,
		),
		templateName,
		s.TemplateVersion,
		s.Seconds,
		grouped(int(s.TasksPerSecond)),
		grouped(int(s.StepsPerSecond)),
	)
	row := func(n int, name, note string) {
		fmt.Fprintln(b, strings.TrimRight(fmt.Sprintf("  %7s  %-14s %s", grouped(n), name, note), " "))
	}
	row(s.Completed, string(tasker.TaskComplete), "")
	note := ""
	if s.Failed > 0 {
		note = "until an operator repairs a step"
	}
	row(s.Failed, string(tasker.TaskError), note)
	for _, state := range s.otherStates() {
		row(s.States[state], string(state), "")
	}
	row(s.Lost, "lost", "accepted, but never settled")
	row(s.SettledTwice, "settled twice", "steps with two acknowledged results")
	if s.Duplicates > 0 {
		row(s.Duplicates, "duplicates", "rows filed twice, detected by their idempotency key")
	}
}

func (s Summary) otherStates() []tasker.TaskState {
	var rest []tasker.TaskState
	for state := range s.States {
		if state != tasker.TaskComplete && state != tasker.TaskError {
			rest = append(rest, state)
		}
	}
	slices.Sort(rest)
	return rest
}

func (s Summary) writeFailures(b *strings.Builder) {
	if len(s.Failures) == 0 {
		return
	}
	steps := 0
	for _, g := range s.Failures {
		steps += g.Count
	}
	fmt.Fprintf(b, "\nFailed steps by cause, %s in total:\n", grouped(steps))
	for _, g := range s.Failures {
		fmt.Fprintf(b, "\n  %7s  %s in %s", grouped(g.Count), g.ErrorType, g.Step)
		if g.Code != "" {
			fmt.Fprintf(b, ": %s", g.Code)
		}
		b.WriteString("\n")
		where := ""
		if g.Example.Record > 0 {
			where = fmt.Sprintf("record %d: ", g.Example.Record)
		}
		fmt.Fprintf(b, "           %s%s\n           task %s\n", where, g.Example.Message, g.Example.TaskUUID)
	}
}

// writeNext writes copyable commands to inspect and repair a failure of the most frequent cause. They need a
// server.
func (s Summary) writeNext(b *strings.Builder) {
	if len(s.Failures) == 0 || s.serverURL == "" {
		return
	}
	g := s.Failures[0]
	task, step := g.Example.TaskUUID.String(), g.Example.StepUUID.String()
	fmt.Fprintf(b, "\nInspect one of them, in the dashboard or in a second terminal:\n\n  %s/tasks/%s\n", s.serverURL, task)
	for _, args := range []string{"explain " + task, "step " + task + " " + step} {
		fmt.Fprintf(b, "  %s\n", s.spell(args))
	}
	fix, ok := s.repair(g)
	if !ok {
		b.WriteString("\nWhen the cause is fixed, run the step again:\n\n")
		fmt.Fprintf(b, "  %s \\\n    --reason 'cause fixed' --actor \"$USER\"\n", s.spell("reset-step "+task+" "+step))
		return
	}
	b.WriteString("\nRepair it by supplying the missing result; the task then completes by itself:\n\n")
	fmt.Fprintf(b, "  %s \\\n    --result %s \\\n    --reason %s --actor \"$USER\"\n",
		s.spell("complete-step "+task+" "+step), quote(fix.Result), quote(fix.Reason))
	fmt.Fprintf(b, "  %s\n", s.spell("wait "+task))
}

func (s Summary) repair(g FailureGroup) (repair, bool) {
	if g.Example.Record < 1 || g.Example.Record > len(s.rows) {
		return repair{}, false
	}
	return proposeRepair(g.Step, s.rows[g.Example.Record-1])
}

func (s Summary) spell(args string) string {
	return s.command + " task " + args + " --server " + s.serverURL
}
