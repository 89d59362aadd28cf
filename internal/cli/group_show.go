package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newGroupShow prints a deadletters.GroupStory. It needs read or dead-letters:read, the latter for the sample
// letter, because its payload belongs to another program.
func newGroupShow(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "show GROUP_ID",
		Short:   "Show a group, its thread and a recent letter",
		Example: `  tasker group show 3f1c2d5e6f700042`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(with(groupArg, func(ctx context.Context, c *tasker.Client, id string) error {
			return answered(s, s.printGroupStory)(deadletters.Of(c).Group(ctx, id))
		})),
	}
}

// printGroupStory prints notes in the order of writing; the server sends the newest first.
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

// Failures counts all ever; Open counts the undecided.
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

// groupState formats "resolved in v2.3.1" or "ignored, until 2026-03-01T08:00:00Z, for 1000 failures". The first
// bound reached opens the group.
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

// newGroupWhy shows stored parts of the fingerprint or rule as VALUE, which later rules do not change. FROM is from
// a recent letter, empty with cases only.
func newGroupWhy(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "why GROUP_ID",
		Short: "Show what the failures of a group have in common",
		Long: `Show the parts of a group's fingerprint, and the text from which each was derived.
Failures with the same parts are in the same group.`,
		Example: `  tasker group why 3f1c2d5e6f700042`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(with(groupArg, func(ctx context.Context, c *tasker.Client, id string) error {
			story, err := deadletters.Of(c).Group(ctx, id)
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
		})),
	}
}
