package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
)

// newPolicy: changes need sources:admin.
func newPolicy(s *session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Manage which dead letters are sent back without an operator",
		Long: `A policy says which letters of a source, or of one of its origins, are sent back without
an operator, and when.`,
	}
	s.connectFlags(cmd)
	cmd.AddCommand(newPolicySet(s), newPolicyPreset(s), newPolicyList(s), newPolicyRemove(s))
	return cmd
}

// newPolicySet, like `source add`, saves the whole policy by POST /v1/policies: an omitted flag takes its default.
// It decides about letters that arrive or return from then on. An unknown source exits with 3.
func newPolicySet(s *session) *cobra.Command {
	var (
		req                 deadletters.PolicyRequest
		strategy            string
		base, limit, maxAge time.Duration
	)
	cmd := &cobra.Command{
		Use:   "set SOURCE",
		Short: "Set the policy of a source, or of one of its origins; * is all sources",
		Example: `  tasker policy set billing --strategy exponential --base 1m --cap 1h --multiplier 4 --max-retries 5
  tasker policy set billing --origin orders --strategy scheduled --time-of-day 03:30`,
		Args: cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			req.Source, req.Strategy, req.Act = args[0], deadletters.Strategy(strategy), signed(req.Act)
			req.BaseSeconds, req.CapSeconds, req.MaxAgeSeconds = base.Seconds(), limit.Seconds(), maxAge.Seconds()
			return answeredList(s, "policies", s.printPolicies)(alone(deadletters.Of(c).SavePolicy(ctx, req)))
		}),
	}
	f := cmd.Flags()
	f.StringVar(&req.Namespace, "namespace", "default", "namespace")
	f.StringVar(&req.Origin, "origin", "", "origin (default: every origin that has no policy)")
	f.StringVar(&strategy, "strategy", "manual", "manual, immediate, fixed, exponential or scheduled")
	f.IntVar(&req.MaxRetries, "max-retries", 0, "replays after which a letter is discarded with that reason")
	f.BoolVar(&req.KeepExhausted, "keep-exhausted", false, "leave such letters open instead")
	// A strategy ignores flags that it does not use.
	f.DurationVar(&base, "base", 0, "delay before a letter is sent back")
	f.DurationVar(&limit, "cap", 0, "longest delay")
	f.Float64Var(&req.Multiplier, "multiplier", 0, "factor of the delay for each replay")
	f.Float64Var(&req.Jitter, "jitter", 0, "random share of the delay, 0 to 1")
	f.StringVar(&req.TimeOfDay, "time-of-day", "", "HH:MM in UTC, with strategy scheduled")
	f.DurationVar(&maxAge, "max-age", 0, "older letters are left to an operator")
	f.StringSliceVar(&req.OnlyTypes, "only-error-type", nil, "restrict the policy to these error types; repeatable")
	f.BoolVar(&req.DiscardTests, "discard-test-events", false, "discard letters whose message ID begins with test-")
	f.BoolVar(&req.CopyRetries, "copy-retries", false, "send a copy of each retry to the destination with -retry")
	actFlags(cmd, &req.Act)
	choose(cmd, "strategy", deadletters.Manual, deadletters.Immediate, deadletters.Fixed, deadletters.Exponential,
		deadletters.Scheduled)
	return cmd
}

// newPolicyPreset saves the policies one by one, and is repeatable. Policies of other origins stay.
func newPolicyPreset(s *session) *cobra.Command {
	var (
		o           deadletters.PresetOptions
		prefix      string
		underscores bool
		act         deadletters.Act
	)
	cmd := &cobra.Command{
		Use:   "preset PRESET",
		Short: "Set the policies of a preset",
		Example: `  tasker policy preset event-platform
  tasker policy preset event-platform --source events --prefix staging. --keep-test-events`,
		Args: cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			o.Topics = func(name string) string {
				if underscores {
					name = strings.ReplaceAll(name, "-", "_")
				}
				return prefix + name
			}
			list := deadletters.Preset(args[0], o)
			if list == nil {
				return tasker.Errorf(tasker.CodeInvalid, "there is no preset %q; it must be one of %s", args[0],
					strings.Join(deadletters.Presets(), ", "))
			}
			for i := range list {
				saved, err := deadletters.Of(c).SavePolicy(ctx, deadletters.PolicyRequest{Policy: list[i], Act: signed(act)})
				if err != nil {
					return err
				}
				list[i] = *saved
			}
			return answeredList(s, "policies", s.printPolicies)(list, nil)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.Namespace, "namespace", "default", "namespace")
	f.StringVar(&o.Source, "source", "", "source (default: all sources of the namespace)")
	f.StringVar(&prefix, "prefix", "", "what the names of topics begin with")
	f.BoolVar(&underscores, "underscores", false, "topics have _ instead of -")
	f.BoolVar(&o.KeepTests, "keep-test-events", false, "do not discard letters whose message ID begins with test-")
	actFlags(cmd, &act)
	return cmd
}

// newPolicyList: a source without a row leaves its letters to operators. --json prints deadletters.Policies.
func newPolicyList(s *session) *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List policies",
		Example: `  tasker policy list`,
		Args:    cobra.NoArgs,
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, _ []string) error {
			return answeredList(s, "policies", s.printPolicies)(deadletters.Of(c).Policies(ctx, namespace))
		}),
	}
	cmd.Flags().StringVar(&namespace, "namespace", "", "filter by namespace")
	return cmd
}

// newPolicyRemove without --origin removes only the policy for every origin. Scheduled letters keep their time. A
// missing policy exits with 3, so a repetition fails harmlessly.
func newPolicyRemove(s *session) *cobra.Command {
	var (
		namespace, origin string
		act               deadletters.Act
	)
	cmd := &cobra.Command{
		Use:     "remove SOURCE",
		Short:   "Remove a policy; letters are then left to operators",
		Example: `  tasker policy remove billing --origin orders`,
		Args:    cobra.ExactArgs(1),
		RunE: s.onServer(func(ctx context.Context, c *tasker.Client, args []string) error {
			err := deadletters.Of(c).DropPolicy(ctx, namespace, args[0], origin, signed(act))
			return s.printRemoved(err, "✓ Policy of %s removed\n", qualified(namespace, args[0]))
		}),
	}
	f := cmd.Flags()
	f.StringVar(&namespace, "namespace", "default", "namespace")
	f.StringVar(&origin, "origin", "", "origin (default: the policy for every origin)")
	actFlags(cmd, &act)
	return cmd
}

// An empty ORIGIN is the policy for origins without their own.
func (s *session) printPolicies(list []deadletters.Policy) error {
	t := s.newList("No policies.", "SOURCE", "ORIGIN", "STRATEGY", "BASE", "CAP", "MULTIPLIER", "AT", "RETRIES", "MAX AGE")
	t.dropFirst("MULTIPLIER", "AT")
	for i := range list {
		p := &list[i]
		t.row(qualified(p.Namespace, p.Source), p.Origin, string(p.Strategy), seconds(p.BaseSeconds), seconds(p.CapSeconds),
			strconv.FormatFloat(p.Multiplier, 'g', -1, 64), p.TimeOfDay, strconv.Itoa(p.MaxRetries), seconds(p.MaxAgeSeconds))
	}
	return t.flush()
}

// seconds shows 0 as "".
func seconds(s float64) string {
	if s == 0 {
		return ""
	}
	return time.Duration(s * float64(time.Second)).String()
}
