package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func TestOlderFlagNames(t *testing.T) {
	t.Parallel()
	for command, nameByOlder := range map[string]map[string]string{
		"task reset-step":    {"reset-by": "actor"},
		"task resolve-step":  {"resolved-by": "actor"},
		"task complete-step": {"completed-by": "actor"},
		"task cancel":        {"cancelled-by": "actor"},
		"task edit":          {"edited-by": "actor"},
		"template register":  {"registered-by": "actor"},
		"worker drain":       {"drained-by": "actor"},
		"worker resume":      {"resumed-by": "actor"},
		"dlq open":           {"opened-by": "actor"},
		"dlq reopen":         {"reopened-by": "actor"},
		"dlq replay": {
			"replayed-by": "actor", "failure-reason": "dlq-reason", "task-type": "name",
			"error": "fingerprint", "error-pattern": "fingerprint",
		},
		"dlq act":    {"by": "actor", "task-name": "name", "current-state": "state"},
		"dlq update": {"resolved-by": "actor", "task-name": "name", "current-state": "state"},
		"dlq list": {
			"offset": "cursor", "reason": "dlq-reason", "status": "resolution-status",
			"task-name": "name", "current-state": "state",
		},
		"dlq queue": {"reason": "dlq-reason", "task-name": "name", "current-state": "state",
			"error-pattern": "fingerprint"},
		"dlq stats":     {"task-name": "name", "current-state": "state"},
		"dlq staleness": {"health": "health-status", "task-name": "name"},
		"dlq tasks": {
			"error": "fingerprint", "error-pattern": "fingerprint", "status": "resolution-status",
			"failure-reason": "dlq-reason", "task-type": "name",
		},
		"queue list": {"task-type": "name", "user-id": "initiator"},
		"events":     {"task": "task-uuid", "state": "to-state"},
		"audit": {
			"task": "task-uuid", "case": "case-uuid", "dlq-entry-uuid": "case-uuid", "template": "name", "below": "cursor",
		},
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			cmd, _, err := newRoot(&session{name: "tasker"}).Find(strings.Fields(command))
			if err != nil {
				t.Fatal(err)
			}
			for older, name := range nameByOlder {
				if f := cmd.Flags().Lookup(older); f == nil || f.Name != name {
					t.Errorf("--%s is not --%s", older, name)
				}
				if strings.Contains(cmd.Flags().FlagUsages(), "--"+older+" ") {
					t.Errorf("the help shows --%s", older)
				}
			}
		})
	}
}

// TestFlagVocabulary: a concept has the same flag name in all commands.
func TestFlagVocabulary(t *testing.T) {
	t.Parallel()
	retired := map[string]string{
		"below": "cursor", "offset": "cursor", "user-id": "initiator", "task-name": "name", "task-type": "name",
		"template": "name", "current-state": "state", "failure-reason": "dlq-reason", "dlq-entry-uuid": "case-uuid",
		"error-pattern": "fingerprint", "by": "actor",
	}
	seen := 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			seen++
			name, bad := retired[f.Name]
			if !bad && strings.HasSuffix(f.Name, "-by") && f.Name != "unique-by" { // names fields, not a person
				name, bad = "actor", true
			}
			if bad {
				t.Errorf("%s has a flag --%s; all commands call it --%s", cmd.CommandPath(), f.Name, name)
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(&session{name: "tasker"}))
	if seen < 100 {
		t.Errorf("saw only %d flags", seen)
	}
}

func TestExamples(t *testing.T) {
	t.Parallel()
	quoted, flag := regexp.MustCompile(`'[^']*'`), regexp.MustCompile(` --([a-z-]+)`)
	seen := 0
	var walk func(root, cmd *cobra.Command)
	walk = func(root, cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(root, sub)
		}
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			words, ok := strings.CutPrefix(line, "  tasker ")
			if !ok {
				continue
			}
			seen++
			words, _, _ = strings.Cut(quoted.ReplaceAllString(words, "''"), " | ")
			found, _, err := root.Find(strings.Fields(words))
			if err != nil || !found.Runnable() {
				t.Errorf("%s has the example %q: %v", cmd.CommandPath(), line, err)
				continue
			}
			for _, name := range flag.FindAllStringSubmatch(words, -1) {
				if found.Flag(name[1]) == nil {
					t.Errorf("%s has no --%s, but the example %q", found.CommandPath(), name[1], line)
				}
			}
		}
	}
	root := newRoot(&session{name: "tasker"})
	walk(root, root)
	if seen < 100 {
		t.Errorf("saw only %d examples", seen)
	}
}
