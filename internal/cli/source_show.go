package cli

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// shownSource is what `source show --json` prints.
type shownSource struct {
	deadletters.SourceStatus
	// Policies are those that may decide about letters of the source, in the order in which they are looked for.
	Policies []deadletters.Policy `json:"policies"`
}

// newSourceShow builds `source show`: a source, and which policy decides about the letters of which origin, with where
// its settings come from. An unknown source is exit code 3.
func newSourceShow(s *session) *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show a source and the policies of its letters",
		Example: `  tasker source show billing`,
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			sources, err := deadletters.Of(c).Sources(ctx, namespace)
			if err != nil {
				return err
			}
			i := slices.IndexFunc(sources, func(s deadletters.SourceStatus) bool { return s.Name == args[0] })
			if i < 0 {
				return tasker.Errorf(tasker.CodeNotFound, "there is no source %q", args[0])
			}
			all, err := deadletters.Of(c).Policies(ctx, namespace)
			if err != nil {
				return err
			}
			out := shownSource{sources[i], effective(all, args[0])}
			if s.json {
				return s.printJSON(out)
			}
			if err := s.printSources(sources[i : i+1]); err != nil {
				return err
			}
			t := newTable(s.Out, "ORIGIN", "STRATEGY", "BASE", "CAP", "RETRIES", "MAX AGE", "OF", "SET BY", "AT")
			for i := range out.Policies {
				p := &out.Policies[i]
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

// effective returns the policies that decide about letters of a source: one for each origin that has one, then the one
// for all others. Without one, letters are left to operators by default.
func effective(all []deadletters.Policy, source string) []deadletters.Policy {
	best := map[string]deadletters.Policy{}
	for _, p := range all {
		known, found := best[p.Origin]
		if p.Source == source || p.Source == deadletters.AllSources && (!found || known.Source != source) {
			best[p.Origin] = p
		}
	}
	if _, found := best[""]; !found {
		best[""] = deadletters.Policy{Source: deadletters.AllSources, Strategy: deadletters.Manual,
			SetFrom: deadletters.SetByDefault}
	}
	out := make([]deadletters.Policy, 0, len(best))
	for _, p := range best {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b deadletters.Policy) int {
		if (a.Origin == "") != (b.Origin == "") { // the rest comes last
			return -cmp.Compare(a.Origin, b.Origin)
		}
		return cmp.Compare(a.Origin, b.Origin)
	})
	return out
}

// number shows a number, and 0 as nothing.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
