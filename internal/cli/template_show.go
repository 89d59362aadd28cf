package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskerhq/tasker"
)

// newTemplateShow takes the latest version by default. --json prints a tasker.Template, --yaml its source.
func newTemplateShow(s *session) *cobra.Command {
	var version string
	var source bool
	cmd := &cobra.Command{
		Use:     "show [NAMESPACE/]NAME[@VERSION]",
		Short:   "Show one version of a template, by default the last registered",
		Example: `  tasker template show shop/order@1.0.0`,
		Args:    cobra.ExactArgs(1),
		RunE: s.reading(func(ctx context.Context, c *tasker.Client, args []string) error {
			namespace, name, v := templateName(args[0])
			if v != "" && version != "" {
				return usagef("give the version only once, as @VERSION or --version")
			}
			t, err := c.Template(ctx, namespace, name, v+version)
			if err != nil {
				return err
			}
			switch {
			case s.json:
				return s.printJSON(t)
			// The registered YAML with comments can be edited and registered again.
			case source:
				return s.write([]byte(cleanLines(t.YAML)))
			}
			return s.printTemplate(t)
		}),
	}
	cmd.Flags().StringVar(&version, "version", "", "version to show")
	cmd.Flags().BoolVar(&source, "yaml", false, "print the registered YAML source")
	return cmd
}

// Missing attempts and time-outs come from each task's priority, which the server's configuration defines.
func (s *session) printTemplate(t *tasker.Template) error {
	f := s.newFields("  ")
	f.add("Name", qualified(t.Namespace, t.Name))
	f.add("Version", t.Version)
	f.block("Description", t.Description)
	f.add("Priority", string(t.Priority))
	f.add("Limits", limitsOf(t.Concurrency, t.RateLimit))
	f.add("Registered", s.stampAgo(&t.CreatedAt))
	f.add("Fingerprint", t.Fingerprint)
	if err := s.write([]byte("✓ Template Details:\n\n" + f.String() + "\n")); err != nil {
		return err
	}
	columns := []string{"STEP", "HANDLER", "DEPENDS ON", "ATTEMPTS", "BACKOFF", "TIMEOUT", "CAPABILITIES", "LIMITS"}
	conditions := slices.ContainsFunc(t.Steps, func(st tasker.TemplateStep) bool { return runsIf(&st) != "" })
	if conditions {
		columns = append(columns, "WHEN")
	}
	tbl := s.newTable(columns...)
	tbl.dropFirst("CAPABILITIES", "LIMITS", "BACKOFF")
	for i := range t.Steps {
		st := &t.Steps[i]
		row := []string{st.Name, strings.Join(strings.Fields(st.Runs()), " "), strings.Join(st.Dependencies, ", "),
			attemptsOf(st), backoffOf(st),
			timeoutOf(st), strings.Join(st.RequiredCapabilities, ", "),
			limitsOf(st.Concurrency, st.RateLimit)}
		if conditions {
			row = append(row, runsIf(st))
		}
		tbl.row(row...)
	}
	return tbl.flush()
}

func runsIf(st *tasker.TemplateStep) string {
	when := strings.Join(strings.Fields(st.When), " ")
	switch {
	case !st.OnFailure:
		return when
	case when == "":
		return "the task fails"
	}
	return "the task fails and " + when
}

// limitsOf words limits, such as "1 at once for each {{customer}}, 10 per 1s"; "" for none.
func limitsOf(concurrency, rate *tasker.StepLimit) string {
	var texts []string
	for _, l := range []*tasker.StepLimit{concurrency, rate} {
		if l == nil {
			continue
		}
		text := fmt.Sprintf("%d at once", l.Limit)
		if l.PerMS > 0 {
			text = fmt.Sprintf("%d per %s", l.Limit, time.Duration(l.PerMS)*time.Millisecond)
		}
		if l.PerMS > 0 && l.Burst != l.Limit {
			text += fmt.Sprintf(" with bursts of %d", l.Burst)
		}
		if l.Key != "" {
			text += " for each " + l.Key
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// setByPriority marks a value from the task's priority level.
const setByPriority = "(by priority)"

// Only workers' steps have attempts.
func attemptsOf(st *tasker.TemplateStep) string {
	switch {
	case st.Handler == "":
		return ""
	case !st.Retry.Retryable: // MaxAttempts has no effect
		return "1"
	case st.Retry.MaxAttempts == 0:
		return setByPriority
	}
	return strconv.Itoa(st.Retry.MaxAttempts)
}

func backoffOf(st *tasker.TemplateStep) string {
	if st.Handler == "" {
		return ""
	}
	return st.Retry.Backoff
}

func timeoutOf(st *tasker.TemplateStep) string {
	switch {
	case st.Handler == "":
		return ""
	case st.TimeoutSeconds == 0:
		return setByPriority
	}
	return strconv.Itoa(st.TimeoutSeconds) + "s"
}
