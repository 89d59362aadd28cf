package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

const watchInterval = 500 * time.Millisecond

// newRedriveWatch polls whole states, so a lost answer loses nothing. Ctrl-C ends only the watching. The exit code
// is 0 for done, otherwise for halted, paused or cancelled it is not 0.
func newRedriveWatch(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "watch REDRIVE_UUID",
		Short: "Show the progress of a redrive until it ends, pauses or halts",
		Long: `Show the progress of a redrive until it ends, is paused or halts, and print it. On a
terminal the progress is one line that changes; otherwise each change of state or wave
is a line. The exit code is 0 when the redrive is done, and 1 when it is not.`,
		Example: `  tasker redrive watch 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70`,
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(with(redriveArg, func(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
			return s.watchRedrive(ctx, c, id)
		})),
	}
}

// watchRedrive ends at a state that needs an operator (draft, paused, halted) or is final.
func (s *session) watchRedrive(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
	r, err := s.followRedrive(ctx, c, id)
	if err != nil {
		return err
	}
	return s.endWatch(r)
}

// followRedrive returns the last seen redrive, nil for never.
func (s *session) followRedrive(ctx context.Context, c *tasker.Client, id uuid.UUID) (*deadletters.Redrive, error) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	var shown string
	var last *deadletters.Redrive
	// The progress must not mix with later output.
	defer func() {
		if s.ErrTerminal && !s.json {
			fmt.Fprint(s.Err, "\r\x1b[K")
		}
	}()
	for {
		r, err := deadletters.Of(c).Redrive(ctx, id)
		if err != nil {
			return last, err
		}
		last = r
		shown = s.showProgress(r, shown)
		if r.State.Ended() || r.State == deadletters.RedriveHalted || r.State == deadletters.RedrivePaused ||
			r.State == deadletters.RedriveDraft {
			return r, nil
		}
		select {
		case <-ctx.Done():
			return last, ctx.Err()
		case <-tick.C:
		}
	}
}

// endWatch fails with code 1 in any state except done.
func (s *session) endWatch(r *deadletters.Redrive) error {
	if err := answered(s, s.printRedrive)(r, nil); err != nil {
		return err
	}
	if r.State != deadletters.RedriveDone {
		return exitError(exitFailure)
	}
	return nil
}

// showProgress returns what it showed, on standard error and not with --json. A terminal gets one line that is
// overwritten; a log gets a line when the state or the wave changed since before.
func (s *session) showProgress(r *deadletters.Redrive, before string) string {
	if s.json {
		return ""
	}
	line := fmt.Sprintf("%s, wave %d", r.State, r.Wave)
	if s.ErrTerminal {
		fmt.Fprintf(s.Err, "\r\x1b[K%s %s  %s", progressBar(r.Counts.Decided(), r.Total), line, counts(&r.Counts))
		return line
	}
	if line != before {
		fmt.Fprintf(s.Err, "%s: %d of %d\n", line, r.Counts.Decided(), r.Total)
	}
	return line
}

const barWidth = 30

// A redrive without items is complete.
func progressBar(done, total int) string {
	share := 1.0
	if total > 0 {
		share = min(float64(done)/float64(total), 1)
	}
	filled := int(share * barWidth)
	return fmt.Sprintf("[%s%s] %3d%%", strings.Repeat("█", filled), strings.Repeat("░", barWidth-filled),
		int(share*100))
}
