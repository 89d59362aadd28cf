package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newRedrivePlan takes the flags and needs the permissions of `redrive start`. It sends POST /v1/redrives/preview,
// which stores nothing; the start also selects what arrives in between.
func newRedrivePlan(s *session) *cobra.Command {
	var flags redriveFlags
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what a redrive would do, and change nothing",
		Long: `Show what "redrive start" with the same flags would do: how many letters and cases it
selects, samples with what an edit changes, whether the destinations exist and are
allowed, and the plan of the waves. The exit code is 7 if the redrive would be refused,
and 4 if it selects nothing.`,
		Example: `  tasker redrive plan --group 3f1c2d5e6f700042
  tasker redrive plan --source billing --patch '{"currency": "EUR"}'`,
		Args:    cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return flags.prepare(s, cmd) },
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return s.preview(ctx, c, flags.req)
		}),
	}
	flags.add(cmd)
	return cmd
}

// preview prints what a request would do. A refused redrive is printed, and then fails with code invalid, exit code
// 7. `redrive start --dry-run` uses it, too.
func (s *session) preview(ctx context.Context, c *tasker.Client, req deadletters.RedriveRequest) error {
	p, err := deadletters.Of(c).PreviewRedrive(ctx, req)
	if err != nil {
		return err
	}
	if s.json {
		err = s.printJSON(p)
	} else {
		err = s.printPreview(p)
	}
	if err == nil && p.Total == 0 {
		return &tasker.Error{Code: tasker.CodeConflict, Message: "the redrive would be refused: it selects nothing",
			Hint: "see tasker inbox"}
	}
	if err != nil || len(p.Problems) == 0 {
		return err
	}
	return &tasker.Error{Code: tasker.CodeInvalid, Message: "the redrive would be refused", Details: p.Problems}
}

// printPreview has a row per change of a sample; without an edit, one row with the problem, if any.
func (s *session) printPreview(p *deadletters.Preview) error {
	f := s.newFields("  ")
	total := strconv.Itoa(p.Total)
	if p.Capped {
		// The preview reads a bounded number of the newest items; the freeze takes all.
		total = "more than " + total
	}
	f.add("Items", total)
	f.add("Waves", planLine(p.Plan))
	f.add("Stop", stopLine(p.Stop))
	for _, d := range p.Destinations {
		verdict := "ok"
		switch {
		// First, because existence is only checked for allowed destinations.
		case !d.Allowed:
			verdict = "not allowed by its source"
		case !d.Exists:
			verdict = "does not exist"
		}
		f.add("Destination", fmt.Sprintf("%s of %s: %d letters, %s", d.Destination, d.Source, d.Letters, verdict))
	}
	if err := s.write([]byte(f.String())); err != nil || len(p.Samples) == 0 {
		return err
	}
	if err := s.printf("\nSamples:\n\n"); err != nil {
		return err
	}
	t := s.newTable("KIND", "ID", "DESTINATION", "POINTER", "BEFORE", "AFTER")
	for i := range p.Samples {
		item := &p.Samples[i]
		if len(item.Changes) == 0 {
			t.row(string(item.Kind), item.ID.String(), item.Destination, "", "", item.Problem)
		}
		for _, c := range item.Changes {
			t.row(string(item.Kind), item.ID.String(), item.Destination, c.Pointer, headline(c.Before), headline(c.After))
		}
	}
	return t.flush()
}

// planLine words a plan: "first 10, then 3 times as many, at most 1000; 5m0s between them".
func planLine(p deadletters.Plan) string {
	line := fmt.Sprintf("first %d, then %g times as many, at most %d; %s between them", p.Canary, p.Factor, p.Largest,
		time.Duration(p.ObserveSeconds*float64(time.Second)))
	if p.Rate > 0 {
		line += fmt.Sprintf("; %g a second", p.Rate)
	}
	return line
}

// stopLine lists the bounds of a stop rule; 0 is off.
func stopLine(r deadletters.StopRule) string {
	line := ""
	add := func(format string, args ...any) {
		if line != "" {
			line += ", or "
		}
		line += fmt.Sprintf(format, args...)
	}
	if r.ReturnedShare > 0 {
		add("%g %% of a wave came back", r.ReturnedShare*100)
	}
	if r.SamePrint > 0 {
		add("%d of a wave came back with one fingerprint", r.SamePrint)
	}
	if r.Failed > 0 {
		add("%d sends of a wave failed", r.Failed)
	}
	return line
}
