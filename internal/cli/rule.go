package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newRule: changing and testing need sources:admin, because a rule decides about all programs of its namespace.
func newRule(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rule",
		Short: "Manage rules that put failures into groups",
		Long: `A rule puts failures into groups instead of their fingerprints: failures for which its
condition holds, in one group for each combination of the values of its keys. Rules are
tried by position and name, and the first that decides wins. A saved rule decides about
what comes; what is in groups stays there.

Conditions and keys are expressions over kind, error_type, code, message, class,
retryable, frame, handler, source, origin, template, step, reason and header("name").
normalize(message) replaces what varies, extract(message, "customer (\\w+)") takes a
part out. docs/guides/dead-letters.md describes the language.`,
	}
	s.connectFlags(cmd)
	cmd.AddCommand(newRuleAdd(s), newRuleList(s), newRuleShow(s), newRuleTest(s), newRuleRemove(s))
	return cmd
}

// ruleFlags are shared by `rule add` and `rule test`. The server compiles the expressions and reports faults with
// line and column.
func ruleFlags(cmd *cobra.Command, r *deadletters.Rule) {
	f := cmd.Flags()
	f.StringVar(&r.Namespace, "namespace", "default", "namespace")
	f.IntVar(&r.Position, "position", 0, "the lowest is tried first")
	f.StringVar(&r.When, "when", "", "condition (required)")
	f.StringArrayVar(&r.GroupBy, "key", nil, "expression whose value is part of the key; repeatable")
	f.StringVar(&r.Title, "title", "", "title of the groups (default: the name and the values of the keys)")
}

// newRuleAdd saves a new version with exactly the given flags by POST /v1/rules; an omitted --key removes all keys.
// A faulty expression exits with 7. All nodes use the version within a second; grouped failures stay. --json prints
// a list with the deadletters.SavedRule.
func newRuleAdd(s *session) *cobra.Command {
	var req deadletters.RuleRequest
	cmd := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a rule, or a new version of one",
		Example: `  tasker rule add tenants --when 'error_type == "CardDeclined"' --key 'header("tenant")'
  tasker rule add database-down --position -10 --when 'message contains "connection refused"' --title 'The database is down'`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if req.When == "" {
				return usagef("--when is required")
			}
			return nil
		},
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			req.Name, req.Act = args[0], signed(req.Act)
			return answeredList(s, "rules", s.printRules)(alone(deadletters.Of(c).SaveRule(ctx, req)))
		}),
	}
	ruleFlags(cmd, &req.Rule)
	actFlags(cmd, &req.Act)
	return cmd
}

// newRuleList has the current rules, including splits. FAILED counts on the answering node. --json prints
// deadletters.SavedRules.
func newRuleList(s *session) *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List rules in the order in which they are tried",
		Example: `  tasker rule list`,
		Args:    cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return answeredList(s, "rules", s.printRules)(deadletters.Of(c).Rules(ctx, namespace))
		}),
	}
	cmd.Flags().StringVar(&namespace, "namespace", "", "filter by namespace")
	return cmd
}

// newRuleShow also shows removed rules, whose groups exist, and at most the latest 100 versions. --json prints a
// deadletters.RuleStory.
func newRuleShow(s *session) *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:     "show NAME",
		Short:   "Show a rule and its versions, the latest first",
		Example: `  tasker rule show tenants`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, args []string) error {
			return answered(s, s.printRuleStory)(deadletters.Of(c).Rule(ctx, namespace, args[0]))
		}),
	}
	cmd.Flags().StringVar(&namespace, "namespace", "default", "namespace")
	return cmd
}

// newRuleTest tries a rule alone on at most the latest 100 letters and 100 cases of a group, and stores nothing. On
// a group it also needs dead-letters:read. --json prints a deadletters.RuleTrial.
func newRuleTest(s *session) *cobra.Command {
	var (
		test    deadletters.RuleTest
		sample  deadletters.RuleSample
		headers []string
	)
	cmd := &cobra.Command{
		Use:   "test",
		Short: "Show what a rule would decide, and save nothing",
		Long: `Show what a rule would decide: about recent letters and cases of a group (--group), or
about a failure that the other flags describe.`,
		Example: `  tasker rule test --when 'header("tenant") == "acme"' --group 3f1c2d5e6f700042
  tasker rule test --when 'message contains "refused"' --message 'connection refused'`,
		Args: cobra.NoArgs,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if test.Rule.When == "" {
				return usagef("--when is required")
			}
			// The group's members are the failures; flags for one have no effect.
			if test.GroupID != "" {
				_, err := groupArg(test.GroupID)
				return err
			}
			for _, h := range headers {
				name, value, ok := strings.Cut(h, "=")
				if !ok {
					return usagef("--header must be NAME=VALUE, not %q", h)
				}
				sample.Headers = append(sample.Headers, deadletters.Header{Name: name, Value: value})
			}
			test.Failure = &sample
			return nil
		},
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return answered(s, s.printTrial)(deadletters.Of(c).TestRule(ctx, test))
		}),
	}
	ruleFlags(cmd, &test.Rule)
	f := cmd.Flags()
	// The name is part of a group's ID: give the rule's to see its real groups.
	f.StringVar(&test.Rule.Name, "rule", "test", "name of the rule")
	f.StringVar(&test.GroupID, "group", "", "group whose recent letters and cases the rule is tried on")
	// Variables of the expressions; omitted ones are empty.
	f.StringVar((*string)(&sample.Kind), "kind", "", "letter or case")
	f.StringVar(&sample.ErrorType, "error-type", "", "type of the error")
	f.StringVar(&sample.Code, "code", "", "code of the error")
	f.StringVar(&sample.Message, "message", "", "message of the error")
	f.StringVar(&sample.Class, "class", "", "transient, resource, logic or worker")
	f.StringVar(&sample.Frame, "frame", "", "top frame of the application's own code")
	f.StringVar(&sample.Handler, "handler", "", "handler")
	f.StringVar(&sample.Source, "source", "", "source")
	f.StringVar(&sample.Origin, "origin", "", "origin")
	f.StringVar(&sample.Template, "name", "", "template of the task")
	f.StringVar(&sample.Step, "step", "", "step of the task")
	f.StringArrayVar(&headers, "header", nil, "header as NAME=VALUE; repeatable")
	return cmd
}

// newRuleRemove marks a rule as removed by a last version, because groups name it. Later failures go to the next
// rule or their fingerprints. `group unsplit` removes a split.
func newRuleRemove(s *session) *cobra.Command {
	var (
		namespace string
		act       deadletters.Act
	)
	cmd := &cobra.Command{
		Use:     "remove NAME",
		Short:   "Take a rule out of force; its groups and versions stay",
		Example: `  tasker rule remove tenants --reason 'one cause after all'`,
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			err := deadletters.Of(c).DropRule(ctx, namespace, args[0], signed(act))
			return s.printRemoved(err, "✓ Rule %s removed\n", qualified(namespace, args[0]))
		}),
	}
	cmd.Flags().StringVar(&namespace, "namespace", "default", "namespace")
	actFlags(cmd, &act)
	return cmd
}

// SPLITS is the group that a rule splits; FAILED counts failed evaluations on the answering node since its start or
// the rule's change.
func (s *session) printRules(list []deadletters.SavedRule) error {
	t := s.newList("No rules.", "RULE", "VERSION", "POSITION", "SPLITS", "FAILED", "WHEN", "GROUP BY")
	for i := range list {
		r := &list[i]
		t.row(qualified(r.Namespace, r.Name), strconv.FormatInt(r.Version, 10), strconv.Itoa(r.Position), r.Splits,
			strconv.FormatInt(r.Failed, 10), headline(r.When), headline(strings.Join(r.GroupBy, ", ")))
	}
	return t.flush()
}

func (s *session) printRuleStory(r *deadletters.RuleStory) error {
	f := s.newFields("  ")
	f.add("Rule", qualified(r.Namespace, r.Name))
	if r.Removed {
		f.add("State", "removed")
	}
	f.add("Splits", r.Splits)
	f.add("When", r.When)
	for _, key := range r.GroupBy {
		f.add("Group by", key)
	}
	f.add("Title", r.Title)
	if r.Failed > 0 {
		f.add("Failed", fmt.Sprintf("%d times, last with: %s", r.Failed, r.LastError))
	}
	if err := s.write([]byte(f.String() + "\n")); err != nil {
		return err
	}
	t := s.newTable("VERSION", "SAVED", "ACTOR", "REASON", "WHEN")
	for i := range r.Versions {
		v := &r.Versions[i]
		when := headline(v.When)
		if v.Removed {
			when = "(removed)"
		}
		t.row(strconv.FormatInt(v.Version, 10), stamp(&v.SavedAt), byWhom(v.Actor, v.KeyName), headline(v.Reason), when)
	}
	return t.flush()
}

func (s *session) printTrial(r *deadletters.RuleTrial) error {
	if err := s.printf("The rule decides about %d of %d; its evaluation fails for %d.\n", r.Matched, r.Tried,
		r.Failed); err != nil || len(r.Items) == 0 {
		return err
	}
	t := s.newTable("KIND", "ID", "GROUP", "TITLE")
	for i := range r.Items {
		item, id := &r.Items[i], ""
		if item.ID != nil {
			id = item.ID.String()
		}
		title := headline(item.Title)
		if item.Error != "" {
			title = "fails: " + headline(item.Error)
		}
		t.row(string(item.Kind), id, item.GroupID, title)
	}
	return t.flush()
}
