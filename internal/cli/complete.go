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
	completionTime = time.Second // a longer wait feels broken
	completionSize = 50          // candidates of one completion
)

// candidate is a completion with a description.
type candidate struct{ value, about string }

// asked is the command line before the completed word.
type asked struct {
	args      []string
	namespace string // of --namespace, if exactly one was given
}

// candidates requests values from the server.
type candidates func(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error)

// word is a word in capitals in a command's Use: an argument, or several alternatives. Three dots repeat it.
var word = regexp.MustCompile(`[A-Z][A-Z_]+(\|[A-Z][A-Z_]+)*(\.\.\.)?`)

// unqualified removes optional parts of arguments from a Use.
var unqualified = strings.NewReplacer("[NAMESPACE/]", "", "[@VERSION]", "", " | ", "|")

// argumentsOf lists the arguments of a command, each with its alternatives; the last may repeat.
func argumentsOf(cmd *cobra.Command) (arguments [][]string, repeats bool) {
	_, usage, _ := strings.Cut(cmd.Use, " ")
	usage, _, _ = strings.Cut(unqualified.Replace(usage), "--") // required flags
	for _, name := range word.FindAllString(usage, -1) {
		name, repeats = strings.CutSuffix(name, "...")
		arguments = append(arguments, strings.Split(name, "|"))
	}
	return arguments, repeats
}

// ofCommand looks a name up for a command: an entry "source NAME" is for the commands of that group, the command
// itself included, "NAME" for all.
func ofCommand[T any](table map[string]T, cmd *cobra.Command, name string) (found T, ok bool) {
	for _, key := range []string{cmd.Name() + " " + name, cmd.Parent().Name() + " " + name, name} {
		if found, ok = table[key]; ok {
			return found, true
		}
	}
	return found, false
}

// completions derives the completion of arguments from each command's Use, and adds that of flags.
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

// completion completes arguments by one list each; the last may repeat. Without a timely answer it offers nothing,
// because a shell cannot show an error.
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
			// Values that need quotes or escapes cannot be completed.
			if c.value == clean(c.value) && strings.HasPrefix(c.value, start) && len(out) < completionSize {
				out = append(out, cobra.CompletionWithDesc(c.value, headline(clean(c.about))))
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

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

// namespaceFlag returns the namespace of the command line, "" for none or several.
func namespaceFlag(cmd *cobra.Command) string {
	if f := cmd.Flags().Lookup("namespace"); f == nil || !f.Changed || f.Value.Type() != "string" {
		return ""
	}
	namespace, _ := cmd.Flags().GetString("namespace") // it is a string
	return namespace
}

func fixed[T ~string](values ...T) candidates {
	return func(context.Context, *tasker.Client, asked) ([]candidate, error) {
		return listed(values, nil, func(v *T) candidate { return candidate{string(*v), ""} })
	}
}

// both joins the readable lists; nil for none.
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
