package cli

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/kit/wording"
)

// newSourceShow shows a source, its policies by origin, and where their settings come from. An unknown source exits
// with 3.
func newSourceShow(s *session) *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show a source and the policies of its letters",
		Example: `  tasker source show billing`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, args []string) error {
			source, err := deadletters.Of(c).Source(ctx, namespace, args[0])
			if err != nil || s.json {
				return s.jsonOf(source, err)
			}
			if err := s.printSources([]deadletters.SourceStatus{*source}); err != nil {
				return err
			}
			if of := source.Oversized; of != nil {
				const text = "%s on the broker, too large for a letter: the largest has %d bytes, the first is %s, since %s\n"
				if err := s.printf(text, wording.Count(of.Messages, "message"), of.LargestBytes, of.FirstPosition,
					of.Since.UTC().Format(time.RFC3339)); err != nil {
					return err
				}
			}
			t := s.newTable("ORIGIN", "STRATEGY", "BASE", "CAP", "RETRIES", "MAX AGE", "OF", "SET BY", "AT")
			for i := range source.Policies {
				p := &source.Policies[i]
				at := ""
				if p.SetAt != nil {
					at = p.SetAt.UTC().Format(time.RFC3339)
				}
				by := string(p.SetFrom)
				if p.SetBy != "" {
					by += ": " + p.SetBy
				}
				t.row(cmp.Or(p.Origin, "*"), string(p.Strategy), seconds(p.BaseSeconds), seconds(p.CapSeconds),
					number(p.MaxRetries), seconds(p.MaxAgeSeconds), p.Source, by, at)
			}
			return t.flush()
		}),
	}
	cmd.Flags().StringVar(&namespace, "namespace", "default", "namespace")
	return cmd
}

// number shows 0 as "".
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
