package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// choose restricts a flag to values, which the shell completes. A flag that takes a list checks each of them. Another
// value is a mistake in the command line, which no server needs to see.
func choose[T ~string](cmd *cobra.Command, flag string, values ...T) {
	offer(cmd, flag, values...)
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	f := cmd.Flags().Lookup(flag)
	f.Value = chosen{f.Value, list}
}

// chosen is the value of a flag that choose restricts.
type chosen struct {
	pflag.Value
	allowed []string
}

// Set implements pflag.Value. An empty value is none.
func (c chosen) Set(s string) error {
	for v := range strings.SplitSeq(s, ",") {
		if s != "" && !slices.Contains(c.allowed, v) {
			return fmt.Errorf("%q is none of %s", v, strings.Join(c.allowed, ", "))
		}
	}
	return c.Value.Set(s)
}

// pageFlag adds --limit to the command of a list. The server knows its largest page, and refuses what is above; in a
// request 0 stands for its default, so a flag must not be 0.
func pageFlag(cmd *cobra.Command, to *int, value int, help string) {
	*to = value
	cmd.Flags().Var((*pageSize)(to), "limit", help+", 1 to 1000")
}

// pageSize is a number of things on a page.
type pageSize int

// Set implements pflag.Value.
func (p *pageSize) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return errors.New("it must be at least 1")
	}
	*p = pageSize(n)
	return nil
}

// String implements pflag.Value.
func (p *pageSize) String() string { return strconv.Itoa(int(*p)) }

// Type implements pflag.Value.
func (*pageSize) Type() string { return "int" }

// timeFlags parses --after and --before. An omitted flag is the zero time.
func (s *session) timeFlags(after, before string) (from, until time.Time, err error) {
	return s.timeFlagsNamed("--after", after, "--before", before)
}

// timeFlagsNamed is timeFlags for flags with other names.
func (s *session) timeFlagsNamed(afterName, after, beforeName, before string) (from, until time.Time, err error) {
	a, err := s.timeFlag(afterName, after)
	if err != nil {
		return from, until, err
	}
	b, err := s.timeFlag(beforeName, before)
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

// boolFlag parses the value of a flag that selects by a boolean. It is a string, not a boolean flag, because its
// absence means both: then boolFlag returns nil.
func boolFlag(name, value string) (*bool, error) {
	if value == "" {
		return nil, nil
	}
	b, err := strconv.ParseBool(value)
	if err != nil {
		return nil, usagef("%s must be true or false, not %q", name, value)
	}
	return &b, nil
}
