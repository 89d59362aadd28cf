package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newGroupShow builds `group show`. One request answers with the group, its thread, its merged groups and a letter.
// --json prints a deadletters.GroupStory. It needs read or dead-letters:read; the letter is there only with
// dead-letters:read, because its payload belongs to another program.
func newGroupShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "show GROUP_ID",
		Short:   "Show a group, its thread and a recent letter",
		Example: `  tasker group show 3f1c2d5e6f700042`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, args []string) error {
			if err := groupArgs(args...); err != nil {
				return err
			}
			story, err := deadletters.Of(c).Group(ctx, args[0])
			if err != nil {
				return err
			}
			if s.json {
				return s.printJSON(story)
			}
			return s.printGroupStory(story)
		}),
	}
}

// printGroupStory prints a group, its notes with the oldest first, and the sample. The server sends the newest note
// first; a thread reads better in the order in which it was written.
func (s *session) printGroupStory(g *deadletters.GroupStory) error {
	f := s.newFields("  ")
	s.groupFields(&f, &g.Group)
	for _, m := range g.Merged {
		f.add("Merged", m.GroupID+"  "+headline(m.Title))
	}
	if err := s.write([]byte(f.String())); err != nil {
		return err
	}
	for i := len(g.Notes) - 1; i >= 0; i-- {
		n := &g.Notes[i]
		if err := s.printf("\n%s %s: %s\n%s", stamp(&n.At), byWhom(n.Actor, n.KeyName), n.Kind, ""); err != nil {
			return err
		}
		if n.Text != "" {
			if err := s.write([]byte("  " + cleanLines(n.Text) + "\n")); err != nil {
				return err
			}
		}
	}
	if g.Sample == nil {
		return nil
	}
	if err := s.printf("\nA recent letter:\n\n"); err != nil {
		return err
	}
	return s.printLetter(g.Sample)
}

// groupFields adds the details of a group that have a value. Failures counts all that were ever counted; Open counts
// what an operator still has to decide.
func (s *session) groupFields(f *fields, g *deadletters.Group) {
	f.add("Group", g.GroupID)
	f.add("Title", g.Title)
	f.add("Namespace", g.Namespace)
	f.add("State", groupState(g))
	f.add("Since", s.stampAgo(&g.StateAt))
	f.add("Owner", g.Owner)
	f.add("Runbook", g.Runbook)
	f.add("Due", s.stampAgo(g.DueAt))
	f.add("Merged into", g.MergedInto)
	f.add("Failures", fmt.Sprintf("%d: first %s, last %s", g.Failures, s.ago(g.FirstAt), s.ago(g.LastAt)))
	f.add("Open", fmt.Sprintf("%d letters, %d cases", g.OpenLetters, g.OpenCases))
	f.add("Last 24 hours", sparkline(g.Hours, s.Now()))
	if g.Regressions > 0 {
		f.add("Regressions", strconv.Itoa(g.Regressions))
	}
	if g.MeanOpenSeconds > 0 {
		f.add("Mean time to resolve", span(g.MeanOpenSeconds/60))
	}
}

// groupState formats the state of a group with its conditions: "resolved in v2.3.1", "ignored, until
// 2026-03-01T08:00:00Z, for 1000 failures". The bounds of ignored are alternatives: the first one that is reached opens
// the group.
func groupState(g *deadletters.Group) string {
	state := string(g.State)
	switch {
	case g.Regression:
		state += ", a regression"
	case g.ResolvedIn != "":
		state += " in " + g.ResolvedIn
	}
	if i := g.Ignore; i != nil {
		if i.Until != nil {
			state += ", until " + stamp(i.Until)
		}
		if i.Count > 0 {
			state += fmt.Sprintf(", for %d failures", i.Count)
		}
		if i.PerHour > 0 {
			state += fmt.Sprintf(", below %d failures an hour", i.PerHour)
		}
	}
	return state
}

// newGroupWhy builds `group why`. VALUE is stored with the group, so it is what decided when the group was made. FROM
// is the text of a recent letter and is empty if the group has only cases. Parts are those of the version of the
// fingerprint, or of the rule, that made the group: a later change of a rule does not change them.
func newGroupWhy(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "why GROUP_ID",
		Short: "Show what the failures of a group have in common",
		Long: `Show the parts of a group's fingerprint, and the text from which each was derived.
Failures with the same parts are in the same group.`,
		Example: `  tasker group why 3f1c2d5e6f700042`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, args []string) error {
			if err := groupArgs(args...); err != nil {
				return err
			}
			story, err := deadletters.Of(c).Group(ctx, args[0])
			if err != nil {
				return err
			}
			if s.json {
				return s.printJSON(story.Why)
			}
			t := s.newTable("PART", "VALUE", "FROM")
			for _, p := range story.Why {
				t.row(p.Name, headline(p.Value), headline(p.From))
			}
			return t.flush()
		}),
	}
}
