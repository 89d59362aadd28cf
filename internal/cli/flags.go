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

// aliases keeps older flag names, hidden from help, for scripts. Repeated calls add up.
func aliases(cmd *cobra.Command, nameByOlder map[string]string) {
	before := cmd.Flags().GetNormalizeFunc()
	cmd.Flags().SetNormalizeFunc(func(f *pflag.FlagSet, name string) pflag.NormalizedName {
		return before(f, cmp.Or(nameByOlder[name], name))
	})
}

// actorFlag adds --actor with its older name, such as --reset-by.
func actorFlag(cmd *cobra.Command, to *string, older string) {
	cmd.Flags().StringVar(to, "actor", "", "name recorded with the act (default: the current user)")
	aliases(cmd, map[string]string{older: "actor"})
}

// offer completes values without restricting them.
func offer[T ~string](cmd *cobra.Command, flag string, values ...T) {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	complete := cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		cmd.Long = err.Error() // cannot happen: the caller defines the flag
	}
}

// choose restricts a flag, or each item of a list flag, to values, and completes them.
func choose[T ~string](cmd *cobra.Command, flag string, values ...T) {
	offer(cmd, flag, values...)
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	f := cmd.Flags().Lookup(flag)
	f.Value = chosen{f.Value, list}
}

type chosen struct {
	pflag.Value
	allowed []string
}

// Set accepts an empty value as none.
func (c chosen) Set(s string) error {
	for v := range strings.SplitSeq(s, ",") {
		if s != "" && !slices.Contains(c.allowed, v) {
			return fmt.Errorf("%q is none of %s", v, strings.Join(c.allowed, ", "))
		}
	}
	return c.Value.Set(s)
}

// pageFlag adds --limit. The server refuses pages that are too large; 0 is its default in a request, so the flag
// must not be 0.
func pageFlag(cmd *cobra.Command, to *int, value int, help string) {
	*to = value
	cmd.Flags().Var((*pageSize)(to), "limit", help+", 1 to 1000")
}

type pageSize int

func (p *pageSize) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return errors.New("it must be at least 1")
	}
	*p = pageSize(n)
	return nil
}

func (p *pageSize) String() string { return strconv.Itoa(int(*p)) }

func (*pageSize) Type() string { return "int" }

// An omitted flag is the zero time.
func (s *session) timeFlags(after, before string) (from, until time.Time, err error) {
	return s.timeFlagsNamed("--after", after, "--before", before)
}

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

// nextPage prints the flag that continues after a full page.
func (s *session) nextPage(shown, limit int, cursor int64) error {
	if shown == 0 || shown < limit {
		return nil
	}
	return s.printf("\nMore: --cursor %d\n", cursor)
}

// boolFlag parses a string flag, because its absence (nil) means both.
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
