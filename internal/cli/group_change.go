package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// groupCommand changes named groups by PATCH /v1/groups/{group_id} each, or filtered ones by PATCH /v1/groups. A
// change of state takes --note; `group note` and `group assign` do not.
func (s *session) groupCommand(use, short, example string, change *deadletters.GroupChange) *cobra.Command {
	var req deadletters.GroupsChange
	var of deadletters.GroupSelection
	var state string
	cmd := &cobra.Command{Use: use + " [GROUP_ID...]", Short: short, Example: example,
		Long: short + `. Name the groups, or select them by filter flags: --where, --title, --in-state,
--of-owner, --open-only, --namespace. --dry-run only shows which groups would be changed. At most
1,000 groups are changed at once, each in a transaction of its own.`}
	actFlags(cmd, &change.Act)
	f := cmd.Flags()
	f.StringVar(&of.Namespace, "namespace", "", "select groups of a namespace")
	f.StringVar(&of.Where, "where", "", "select groups of a handler or source")
	f.StringVar(&of.Text, "title", "", "select groups with this text in their title")
	f.StringVar(&state, "in-state", "", "select groups in a state: open, acknowledged, resolved or ignored")
	f.StringVar(&of.Owner, "of-owner", "", "select groups of an owner")
	f.BoolVar(&of.OpenOnly, "open-only", false, "select groups with open letters or pending cases")
	f.BoolVar(&req.DryRun, "dry-run", false, "change nothing, and show the groups")
	choose(cmd, "in-state", deadletters.GroupOpen, deadletters.GroupAcknowledged, deadletters.GroupResolved,
		deadletters.GroupIgnored)
	if change.State != "" {
		f.StringVar(&change.Note, "note", "", "note to add to the thread")
	}
	cmd.RunE = s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
		if err := groupArgs(args); err != nil {
			return err
		}
		of.State = deadletters.GroupState(state)
		if req.Groups = args; of != (deadletters.GroupSelection{}) {
			req.Filter = &of
		}
		if (req.Filter != nil) == (len(args) > 0) {
			return usagef("name groups, or select them by a filter such as --where, and not both")
		}
		change.Act = signed(change.Act)
		if req.Filter == nil && !req.DryRun {
			return s.changeGroups(ctx, deadletters.Of(c), args, change)
		}
		req.GroupChange = *change
		changed, err := deadletters.Of(c).ChangeGroups(ctx, req)
		if err != nil {
			return err
		}
		return s.printGroupResults(changed)
	})
	return cmd
}

// changeGroups changes each named group in its own transaction: the first refusal ends the command, and earlier
// groups stay changed.
func (s *session) changeGroups(ctx context.Context, b deadletters.GroupBackend, ids []string,
	change *deadletters.GroupChange,
) error {
	var changed []deadletters.Group
	for _, id := range ids {
		g, err := b.ChangeGroup(ctx, id, *change)
		if err != nil {
			return err
		}
		changed = append(changed, *g)
	}
	return answeredList(s, "groups", s.printChangedGroups)(changed, nil)
}

func (s *session) changedGroup(g *deadletters.Group, err error) error {
	return answeredList(s, "groups", s.printChangedGroups)(alone(g, err))
}

func (s *session) printChangedGroups(changed []deadletters.Group) error {
	for i := range changed {
		g := &changed[i]
		if err := s.printf("✓ Group %s: %s  %s\n", g.GroupID, groupState(g), headline(g.Title)); err != nil {
			return err
		}
	}
	return nil
}

// printGroupResults prints each group's new state, or why it was not changed. The first refusal is the command's
// error; the others are changed.
func (s *session) printGroupResults(changed *deadletters.ChangedGroups) error {
	var refused error
	mark := "✓"
	if changed.DryRun {
		mark = "would change:"
	}
	for _, r := range changed.Results {
		if r.Error != nil && refused == nil {
			refused = r.Error
		}
		var err error
		switch {
		case s.json:
		case r.Error != nil:
			err = s.printf("✗ Group %s: %s\n", r.GroupID, r.Error.Message)
		default:
			err = s.printf("%s Group %s: %s  %s\n", mark, r.GroupID, r.State, headline(r.Title))
		}
		if err != nil {
			return err
		}
	}
	if s.json {
		return errors.Join(s.printJSON(changed), refused)
	}
	if len(changed.Results) == 0 {
		return s.printf("No groups.\n")
	}
	return refused
}

// newGroupAck changes only the state: failures stay open, and `group assign` sets an owner. An acknowledged group
// exits with 4, wrong_state.
func newGroupAck(s *session) *cobra.Command {
	return s.groupCommand("ack", "Acknowledge groups: somebody is working on them",
		`  tasker group ack 3f1c2d5e6f700042 --note 'on it'`,
		&deadletters.GroupChange{State: deadletters.GroupAcknowledged})
}

// newGroupReopen starts the next time to resolve of a resolved group; only a failure is a regression. It also ends
// ignoring.
func newGroupReopen(s *session) *cobra.Command {
	return s.groupCommand("reopen", "Open groups again", `  tasker group reopen 3f1c2d5e6f700042`,
		&deadletters.GroupChange{State: deadletters.GroupOpen})
}

// newGroupResolve: --in is a label that the server does not compare. Open letters stay open.
func newGroupResolve(s *session) *cobra.Command {
	change := &deadletters.GroupChange{State: deadletters.GroupResolved}
	cmd := s.groupCommand("resolve", "Resolve groups; a new failure opens them again, as a regression",
		`  tasker group resolve 3f1c2d5e6f700042 --in v2.3.1`, change)
	cmd.Flags().StringVar(&change.ResolvedIn, "in", "", "version that fixes it")
	return cmd
}

// newGroupIgnore sends --for as a time, independent of the arrival; the server counts the other bounds.
func newGroupIgnore(s *session) *cobra.Command {
	var (
		ignore deadletters.Ignore
		length time.Duration
	)
	change := &deadletters.GroupChange{State: deadletters.GroupIgnored}
	cmd := s.groupCommand("ignore", "Ignore groups until a time, a number of failures or a rate",
		`  tasker group ignore 3f1c2d5e6f700042 --for 24h
  tasker group ignore 3f1c2d5e6f700042 --count 1000 --per-hour 100`, change)
	cmd.Long = `Ignore groups. Whichever bound is reached first opens a group again; without a bound it
is ignored until somebody reopens it.`
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if length < 0 || ignore.Count < 0 || ignore.PerHour < 0 {
			return usagef("--for, --count and --per-hour must not be negative")
		}
		if length > 0 {
			until := s.Now().Add(length)
			ignore.Until = &until
		}
		if ignore != (deadletters.Ignore{}) {
			change.Ignore = &ignore
		}
		return nil
	}
	f := cmd.Flags()
	f.DurationVar(&length, "for", 0, "time to ignore it")
	f.Int64Var(&ignore.Count, "count", 0, "number of failures after which it opens again")
	f.Int64Var(&ignore.PerHour, "per-hour", 0, "number of failures within a clock hour at which it opens again")
	return cmd
}

// newGroupNote appends to the thread, without a change of state or ETag, so it never conflicts. Sent twice, it is
// there twice.
func newGroupNote(s *session) *cobra.Command {
	change := &deadletters.GroupChange{}
	cmd := s.groupCommand("note", "Add a note to the thread of groups",
		`  tasker group note 3f1c2d5e6f700042 --text 'the card service was down, see INC-8'`, change)
	cmd.Flags().StringVar(&change.Note, "text", "", "the note (required)")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if change.Note == "" {
			return usagef("--text is required")
		}
		return nil
	}
	return cmd
}

// newGroupAssign sends pointers: an omitted flag keeps the value, an empty one removes it.
func newGroupAssign(s *session) *cobra.Command {
	var owner, runbook, due string
	change := &deadletters.GroupChange{}
	cmd := s.groupCommand("assign", "Set the owner, the runbook or the due time of groups",
		`  tasker group assign 3f1c2d5e6f700042 --owner payments --runbook https://wiki/cards
  tasker group assign --where charge-card --in-state open --owner payments --dry-run
  tasker group assign 3f1c2d5e6f700042 --owner '' --due ''`, change)
	f := cmd.Flags()
	f.StringVar(&owner, "owner", "", "person or team; empty removes the owner")
	f.StringVar(&runbook, "runbook", "", "URL; empty removes it")
	f.StringVar(&due, "due", "", "time by which it should be resolved, such as 2026-03-01T08:00:00Z; empty removes it")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if f.Changed("owner") {
			change.Owner = &owner
		}
		if f.Changed("runbook") {
			change.Runbook = &runbook
		}
		if due != "" {
			at, err := time.Parse(time.RFC3339, due)
			if err != nil {
				return usagef("--due must be a time such as 2026-03-01T08:00:00Z, not %q", due)
			}
			change.DueAt = &at
		}
		change.NoDueAt = due == "" && f.Changed("due")
		if change.Owner == nil && change.Runbook == nil && change.DueAt == nil && !change.NoDueAt {
			return usagef("nothing to change: give --owner, --runbook or --due")
		}
		return nil
	}
	return cmd
}
