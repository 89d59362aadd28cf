package cli

import (
	"cmp"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// aliases makes older names of flags work, so that scripts survive a renaming. The help does
// not show them. A second call for the same command adds to the first.
func aliases(cmd *cobra.Command, nameByOlder map[string]string) {
	before := cmd.Flags().GetNormalizeFunc()
	cmd.Flags().SetNormalizeFunc(func(f *pflag.FlagSet, name string) pflag.NormalizedName {
		return before(f, cmp.Or(nameByOlder[name], name))
	})
}

// actorFlag adds --actor with its older name, such as --reset-by: each command once named the
// flag after its act.
func actorFlag(cmd *cobra.Command, to *string, older string) {
	cmd.Flags().StringVar(to, "actor", "", "name recorded with the act (default: the current user)")
	aliases(cmd, map[string]string{older: "actor"})
}

// offer sets the values that the shell completes for a flag. It restricts nothing.
func offer[T ~string](cmd *cobra.Command, flag string, values ...T) {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	complete := cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		cmd.Long = err.Error() // the flag is defined by the caller, so this cannot happen
	}
}

// timeFlags parses --after and --before. An omitted flag is the zero time.
func (s *session) timeFlags(after, before string) (from, until time.Time, err error) {
	a, err := s.timeFlag("--after", after)
	if err != nil {
		return from, until, err
	}
	b, err := s.timeFlag("--before", before)
	if err != nil {
		return from, until, err
	}
	if a != nil {
		from = *a
	}
	if b != nil {
		until = *b
	}
	return from, until, nil
}

// nextPage prints the flag that continues after a full page. A page that is not full is the
// last one.
func (s *session) nextPage(shown, limit int, cursor int64) error {
	if shown == 0 || shown < limit {
		return nil
	}
	return s.printf("\nMore: --cursor %d\n", cursor)
}
