package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// uncompleted explains why an argument or a text flag is not completed.
var uncompleted = map[string][]string{
	"the shell completes files and directories": {
		"FILE", "DIRECTORY", "file", "config", "script", "to", "address-file",
	},
	"what it names is new": {
		"send id", "generate NAME", "generate ID", "worker name", "split rule", "idempotency-key", "repeat",
	},
	"it is a time": {
		"after", "before", "created-after", "created-before", "first-after", "first-before", "since", "until", "from",
		"run-at", "due", "deadline", "unique-for", "time-of-day",
	},
	"it is a text": {
		"actor", "reason", "note", "notes", "text", "title", "error-message", "message", "frame", "when", "in",
		"header-name", "header-value", "drop-header", "set-header", "header", "runbook", "prefix", "OTHERS",
	},
	"it is a document, or a part of one": {
		"context", "merge", "result", "metadata", "payload", "patch", "key", "intake", "unique-by",
	},
	"it is an address or a database": {
		"server", "api-key", "listen", "db", "dispatch", "broker-url", "transport", "url", "health-addr", "health-url",
		"copy from", "copy to",
	},
	"it comes from the output of the command before": {"cursor", "last-event-id", "if-match", "head", "verify from"},
	"it is a number with a unit":                     {"set rate"},
	"only a broker can list it":                      {"queue", "target", "destination"},
	"it belongs to the program that is started":      {"worker handler", "env", "format"},
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	reasons := map[string]string{}
	for reason, names := range uncompleted {
		for _, name := range names {
			reasons[name] = reason
		}
	}
	used := map[string]bool{}
	excused := func(cmd *cobra.Command, name string) bool {
		for _, key := range []string{cmd.Name() + " " + name, cmd.Parent().Name() + " " + name, name} {
			if reasons[key] != "" {
				used[key] = true
				return true
			}
		}
		return false
	}
	completed := 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		if !cmd.HasParent() {
			return
		}
		arguments, _ := argumentsOf(cmd)
		for _, names := range arguments {
			for _, name := range names {
				list, ok := ofCommand(completedArgs, cmd, name)
				if ok && list != nil {
					completed++
				} else if !excused(cmd, name) {
					t.Errorf("%s does not complete %s: add it to completedArgs, or say why", cmd.CommandPath(), name)
				}
			}
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			kind := f.Value.Type()
			if slices.Contains([]string{"bool", "duration"}, kind) || strings.HasPrefix(kind, "int") || kind == "float64" {
				return
			}
			if _, ok := cmd.GetFlagCompletionFunc(f.Name); ok {
				completed++
			} else if !excused(cmd, f.Name) {
				t.Errorf("%s does not complete --%s: add it to completedFlags, or say why", cmd.CommandPath(), f.Name)
			}
		})
	}
	root := newRoot(&session{name: "tasker"})
	root.RemoveCommand(helpAndCompletion(root)...)
	walk(root)
	if completed < 300 {
		t.Errorf("saw only %d", completed)
	}
	for name, reason := range reasons {
		if !used[name] {
			t.Errorf("there is no %q that %s", name, reason)
		}
	}
	for _, table := range []map[string]candidates{completedArgs, completedFlags} {
		for name, list := range table {
			_, plain, _ := strings.Cut(name, " ")
			if list == nil && reasons[name] == "" && reasons[plain] == "" {
				t.Errorf("%s has no candidates and no reason", name)
			}
		}
	}
}

func helpAndCompletion(root *cobra.Command) (list []*cobra.Command) {
	for _, sub := range root.Commands() {
		if sub.Name() == "help" || sub.Name() == "completion" {
			list = append(list, sub)
		}
	}
	return list
}
