package cli

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taskerhq/tasker"
)

const (
	completionTime = time.Second // a shell that waits longer feels broken
	completionSize = 50          // candidates of one completion
)

// candidate is a value that the shell offers, with a description.
type candidate struct{ value, about string }

// asked is what the command line has before the word that is completed.
type asked struct {
	args      []string
	namespace string // of --namespace, if it is one and was given
}

// candidates asks the server for values.
type candidates func(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error)

// word is a word in capitals in the Use of a command: an argument, or several that exclude each other. The three dots
// say that it repeats.
var word = regexp.MustCompile(`[A-Z][A-Z_]+(\|[A-Z][A-Z_]+)*(\.\.\.)?`)

// unqualified takes what is a part of an argument out of the Use of a command.
var unqualified = strings.NewReplacer("[NAMESPACE/]", "", "[@VERSION]", "", " | ", "|")

// argumentsOf lists the arguments of a command, each with its alternatives; the last one may repeat.
func argumentsOf(cmd *cobra.Command) (arguments [][]string, repeats bool) {
	_, usage, _ := strings.Cut(cmd.Use, " ")
	usage, _, _ = strings.Cut(unqualified.Replace(usage), "--") // flags that are required
	for _, name := range word.FindAllString(usage, -1) {
		name, repeats = strings.CutSuffix(name, "...")
		arguments = append(arguments, strings.Split(name, "|"))
	}
	return arguments, repeats
}

// ofCommand returns what a table has for a name on a command: an entry "source NAME" is for the commands of this group,
// and the command itself, "NAME" for all.
func ofCommand[T any](table map[string]T, cmd *cobra.Command, name string) (found T, ok bool) {
	for _, key := range []string{cmd.Name() + " " + name, cmd.Parent().Name() + " " + name, name} {
		if found, ok = table[key]; ok {
			return found, true
		}
	}
	return found, false
}

// completions gives every command the completion of its arguments, which it reads from the command's Use, and of the
// flags that name what a server has.
func (s *session) completions(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		s.completions(sub)
	}
	if !cmd.HasParent() {
		return
	}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		_, already := cmd.GetFlagCompletionFunc(f.Name)
		if list, ok := ofCommand(completedFlags, cmd, f.Name); ok && !already && list != nil {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, s.completion([]candidates{list}, true)) // the flag exists
		}
	})
	if cmd.ValidArgsFunction != nil || cmd.ValidArgs != nil {
		return
	}
	arguments, repeats := argumentsOf(cmd)
	var lists []candidates
	known := false
	for _, names := range arguments {
		var some []candidates
		for _, name := range names {
			if list, ok := ofCommand(completedArgs, cmd, name); ok && list != nil {
				some = append(some, list)
			}
		}
		known = known || len(some) > 0
		lists = append(lists, both(some...))
	}
	if known {
		cmd.ValidArgsFunction = s.completion(lists, repeats)
	}
}

// completion returns the completion of arguments by lists, one for each; the last one may repeat. It offers nothing if
// no server answers in time: a shell is not the place for an error.
func (s *session) completion(lists []candidates, repeats bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, start string) ([]cobra.Completion, cobra.ShellCompDirective) {
		at := len(args)
		if repeats {
			at = min(at, len(lists)-1)
		}
		if at >= len(lists) || lists[at] == nil {
			return nil, cobra.ShellCompDirectiveDefault
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		client, err := s.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer func() { _ = client.Close() }() // only idle connections
		found, err := lists[at](ctx, client, asked{args, namespaceFlag(cmd)})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []cobra.Completion
		for _, c := range found {
			// What needs quotes or escapes cannot be completed.
			if c.value == clean(c.value) && strings.HasPrefix(c.value, start) && len(out) < completionSize {
				out = append(out, cobra.CompletionWithDesc(c.value, headline(clean(c.about))))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// listed makes candidates of the items of a list, each value once.
func listed[T any](items []T, err error, of func(*T) candidate) ([]candidate, error) {
	if err != nil {
		return nil, err
	}
	var out []candidate
	seen := map[string]bool{}
	for i := range items {
		if c := of(&items[i]); c.value != "" && !seen[c.value] {
			seen[c.value] = true
			out = append(out, c)
		}
	}
	return out, nil
}

// namespaceFlag returns the namespace that the command line names, "" for none or several.
func namespaceFlag(cmd *cobra.Command) string {
	if f := cmd.Flags().Lookup("namespace"); f == nil || !f.Changed || f.Value.Type() != "string" {
		return ""
	}
	namespace, _ := cmd.Flags().GetString("namespace") // it is a string
	return namespace
}

// fixed is a list that needs no server.
func fixed[T ~string](values ...T) candidates {
	return func(context.Context, *tasker.Client, asked) ([]candidate, error) {
		return listed(values, nil, func(v *T) candidate { return candidate{string(*v), ""} })
	}
}

// both lists the candidates of several lists, as far as they can be read; it is nil for none.
func both(lists ...candidates) candidates {
	if len(lists) == 0 {
		return nil
	}
	return func(ctx context.Context, c *tasker.Client, a asked) (all []candidate, err error) {
		for _, list := range lists {
			some, failed := list(ctx, c, a)
			if failed != nil {
				err = failed
			}
			all = append(all, some...)
		}
		if len(all) > 0 {
			err = nil
		}
		return listed(all, err, func(c *candidate) candidate { return *c })
	}
}
