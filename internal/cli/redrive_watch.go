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

// watchInterval is the time between two looks at a redrive.
const watchInterval = 500 * time.Millisecond

// newRedriveWatch builds `redrive watch`. It polls: each answer has the whole state, so one that is lost costs a look
// and no information. Ctrl-C ends the watching only. The exit code is 0 for a redrive that is done, and not 0 for one
// that is halted, paused or cancelled, so that a script can wait for the end and know it.
func newRedriveWatch(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "watch REDRIVE_UUID",
		Short: "Show the progress of a redrive until it ends, pauses or halts",
		Long: `Show the progress of a redrive until it ends, is paused or halts, and print it. On a
terminal the progress is one line that changes; otherwise each change of state or wave
is a line. The exit code is 0 when the redrive is done, and 1 when it is not.`,
		Example: `  tasker redrive watch 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70`,
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			id, err := redriveArg(args[0])
			if err != nil {
				return err
			}
			return s.watchRedrive(ctx, c, id)
		}),
	}
}

// watchRedrive shows progress until there is no more without an operator. It stops at a state in which only an operator
// can continue: draft, paused or halted, or at an end. An interrupt ends the watching and not the redrive.
func (s *session) watchRedrive(ctx context.Context, c *tasker.Client, id uuid.UUID) error {
	r, err := s.followRedrive(ctx, c, id)
	if err != nil {
		return err
	}
	return s.endWatch(r)
}

// followRedrive shows progress as watchRedrive does, and returns the redrive as it was seen last; nil if it was never
// seen.
func (s *session) followRedrive(ctx context.Context, c *tasker.Client, id uuid.UUID) (*deadletters.Redrive, error) {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	var shown string
	var last *deadletters.Redrive
	// The line of progress is not part of what is printed after it.
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

// endWatch prints the redrive as it is. Any state except done makes the command fail
// with code 1, so that a script that starts and watches needs no second request.
func (s *session) endWatch(r *deadletters.Redrive) error {
	if err := s.printRedrive(r); err != nil {
		return err
	}
	if r.State != deadletters.RedriveDone {
		return exitError(exitFailure)
	}
	return nil
}

// showProgress shows how a redrive stands, and returns what it showed. It prints nothing with --json. Progress is on
// standard error, so that standard output has the final result only. A terminal gets one line that is overwritten at
// each look; a log gets a line only when the state or the wave has changed since before.
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

// barWidth is the number of characters of a progress bar.
const barWidth = 30

// progressBar draws which part of a total is done. A redrive of no items is complete.
func progressBar(done, total int) string {
	share := 1.0
	if total > 0 {
		share = min(float64(done)/float64(total), 1)
	}
	filled := int(share * barWidth)
	return fmt.Sprintf("[%s%s] %3d%%", strings.Repeat("█", filled), strings.Repeat("░", barWidth-filled),
		int(share*100))
}
