package cli

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

const (
	completionTime = time.Second // a shell that waits longer feels broken
	completionSize = 50          // candidates of one completion
)

// candidate is a value that the shell offers, with a description.
type candidate struct{ value, about string }

// candidates asks the server for values. args are the arguments before the one that is completed.
type candidates func(ctx context.Context, c *tasker.Client, args []string) ([]candidate, error)

// word is a word in capitals in the Use of a command: an argument. The three dots say that it repeats.
var word = regexp.MustCompile(`[A-Z][A-Z_]+(\.\.\.)?`)

// completions gives every command the completion of its arguments, which it reads from the command's Use, and of the
// flags that name what a server has.
func (s *session) completions(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		s.completions(sub)
	}
	for flag, list := range completedFlags {
		if cmd.LocalNonPersistentFlags().Lookup(flag) != nil {
			// An error says that the command completes the flag itself.
			_ = cmd.RegisterFlagCompletionFunc(flag, s.completion([]candidates{list}, true))
		}
	}
	if cmd.ValidArgsFunction != nil || cmd.ValidArgs != nil || !cmd.HasParent() {
		return
	}
	var lists []candidates
	repeats, known := false, false
	_, usage, _ := strings.Cut(cmd.Use, " ")
	for _, name := range word.FindAllString(usage, -1) {
		name, repeats = strings.CutSuffix(name, "...")
		list := completedArgs[cmd.Parent().Name()+" "+name]
		if list == nil {
			list = completedArgs[name]
		}
		known = known || list != nil
		if name != "NAMESPACE" && name != "VERSION" {
			lists = append(lists, list)
		}
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
		found, err := lists[at](ctx, client, args)
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

// stepsOf lists the steps of the task that the argument before names.
func stepsOf(ctx context.Context, c *tasker.Client, args []string) ([]candidate, error) {
	if len(args) == 0 {
		return nil, nil
	}
	id, err := uuid.Parse(args[0])
	if err != nil {
		return nil, err
	}
	steps, err := c.Steps(ctx, id)
	return listed(steps, err, func(s *tasker.Step) candidate { return candidate{s.Name, string(s.State)} })
}
