package cli

import (
	"context"
	"strconv"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newRedriveReport lists the items in sending order, the earliest death first, from GET
// /v1/redrives/{redrive_uuid}/items. Numbers of items are stable between pages, so none is missed.
func newRedriveReport(s *session) *cobra.Command {
	var (
		filter deadletters.ItemFilter
		state  string
	)
	cmd := &cobra.Command{
		Use:   "report REDRIVE_UUID",
		Short: "Show the result of each item of a redrive",
		Example: `  tasker redrive report REDRIVE_UUID --state failed
  tasker redrive report REDRIVE_UUID --limit 1000 --json`,
		Args: cobra.ExactArgs(1),
		RunE: s.onServer(with(redriveArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
			filter.State = deadletters.ItemState(state)
			return answered(s, s.printItems)(deadletters.Of(c).RedriveItems(ctx, id, filter))
		})),
	}
	f := cmd.Flags()
	f.StringVar(&state, "state", "",
		"filter by result: pending, sending, unknown, sent, returned, completed, failed or skipped")
	pageFlag(cmd, &filter.Limit, 100, "items per page")
	f.StringVar(&filter.Cursor, "cursor", "", "start after the previous page: the value that it printed")
	choose(cmd, "state", deadletters.ItemPending, deadletters.ItemSending, deadletters.ItemUnknown, deadletters.ItemSent,
		deadletters.ItemReturned, deadletters.ItemCompleted, deadletters.ItemFailed, deadletters.ItemSkipped)
	return cmd
}

// "uncertain" marks an item with an unanswered try: a sent one may have arrived twice under its number, a failed
// one once.
func (s *session) printItems(page *deadletters.ItemPage) error {
	t := s.newList("No items.", "NO", "KIND", "ID", "RESULT", "WAVE", "AT", "GROUP", "MESSAGE")
	t.dropFirst("WAVE", "AT", "GROUP", "KIND")
	for i := range page.Items {
		item := &page.Items[i]
		result := string(item.State)
		if item.Uncertain {
			result += " (uncertain)"
		}
		t.row(strconv.Itoa(item.No), string(item.Kind), item.ID.String(), result, strconv.Itoa(item.Wave),
			stamp(&item.At), item.GroupID, headline(item.Message))
	}
	return t.flushPage(page.NextCursor)
}

// newRedriveList reads GET /v1/redrives: what was sent back, when and by whom. --json prints a
// deadletters.RedrivePage without counts.
func newRedriveList(s *session) *cobra.Command {
	var (
		filter deadletters.RedriveFilter
		states []string
	)
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List redrives, newest first",
		Example: `  tasker redrive list --state running,observing,halted`,
		Args:    cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			for _, state := range states {
				filter.States = append(filter.States, deadletters.RedriveState(state))
			}
			return answered(s, s.printRedrives)(deadletters.Of(c).Redrives(ctx, filter))
		}),
	}
	f := cmd.Flags()
	f.StringVar(&filter.Namespace, "namespace", "", "filter by namespace")
	f.StringSliceVar(&states, "state", nil, "filter by state; repeatable")
	pageFlag(cmd, &filter.Limit, 50, "redrives per page")
	f.StringVar(&filter.Cursor, "cursor", "", "start after the previous page: the value that it printed")
	choose(cmd, "state", deadletters.RedriveDraft, deadletters.RedriveRunning, deadletters.RedriveObserving,
		deadletters.RedrivePaused, deadletters.RedriveHalted, deadletters.RedriveDone, deadletters.RedriveCancelled)
	return cmd
}

// printRedrives omits counts of results, which need a request per redrive.
func (s *session) printRedrives(page *deadletters.RedrivePage) error {
	t := s.newList("No redrives.", "REDRIVE", "OPERATION", "STATE", "ITEMS", "WAVE", "CREATED", "ACTOR", "REASON")
	t.dropFirst("WAVE", "ACTOR", "OPERATION")
	for i := range page.Redrives {
		r := &page.Redrives[i]
		t.row(r.RedriveUUID.String(), string(r.Operation), string(r.State), strconv.Itoa(r.Total), strconv.Itoa(r.Wave),
			s.ago(r.CreatedAt), byWhom(r.Actor, r.KeyName), headline(r.Reason))
	}
	return t.flushPage(page.NextCursor)
}
