package cli

import (
	"strconv"
	"strings"

	"github.com/taskerhq/tasker/deadletters"
)

// intakeOf reads --intake FIELD=VALUE, which the server checks; nil for none.
func intakeOf(flags []string) (*deadletters.Intake, error) {
	if len(flags) == 0 {
		return nil, nil
	}
	in := &deadletters.Intake{}
	texts := map[string]*string{"task_type": &in.TaskType, "template": &in.Template,
		"template_version": &in.TemplateVersion, "priority": &in.Priority, "min_priority": &in.MinPriority,
		"max_priority": &in.MaxPriority, "idempotency_key": &in.IdempotencyKey, "ordering_key": &in.OrderingKey,
		"correlation_id": &in.CorrelationID, "delay": &in.Delay, "input": &in.Input}
	for _, flag := range flags {
		field, value, ok := strings.Cut(flag, "=")
		if !ok {
			return nil, usagef("--intake %s: must be FIELD=VALUE, such as task_type=/type", flag)
		}
		if text := texts[field]; text != nil {
			*text = value
			continue
		}
		var err error
		switch field {
		case "tags":
			in.Tags = append(in.Tags, strings.Split(value, ",")...)
		case "on_failure.write":
			in.OnFailure = &deadletters.IntakeFailure{Write: value}
		case "max_retries":
			var n int
			n, err = strconv.Atoi(value)
			in.MaxRetries = &n
		case "timeout_seconds":
			in.TimeoutSeconds, err = strconv.ParseFloat(value, 64)
		default:
			return nil, usagef("--intake %s: there is no field %q; the fields are those of the API, and "+
				"on_failure.write", flag, field)
		}
		if err != nil {
			return nil, usagef("--intake %s: %q is not a number", flag, value)
		}
	}
	return in, nil
}

func (s *session) printIntakePreview(status *deadletters.SourceStatus) error {
	if s.json || len(status.Preview) == 0 {
		return nil
	}
	if err := s.printf("\nThe first messages would become:\n"); err != nil {
		return err
	}
	t := s.newTable("", "TYPE", "PRIORITY", "KEY", "DELAY", "BYTES", "REASON")
	for _, p := range status.Preview {
		if r := p.Refusal; r != nil {
			t.row("letter", "", "", "", "", "", headline(r.Reason))
			continue
		}
		k := p.Task
		t.row("task", k.TaskType+k.Template, k.Priority, k.IdempotencyKey,
			strconv.FormatFloat(k.DelaySeconds, 'f', -1, 64)+"s", strconv.Itoa(k.ContextBytes), "")
	}
	return t.flush()
}
