package cli

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/internal/api/queueapi"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/waits"
	"github.com/taskerhq/tasker/worker/protocol"
)

// stepsOf lists the steps of the task in the previous argument.
func stepsOf(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error) {
	if len(a.args) == 0 {
		return nil, nil
	}
	id, err := uuid.Parse(a.args[0])
	if err != nil {
		return nil, err
	}
	steps, err := c.Steps(ctx, id)
	return listed(steps, err, func(s *tasker.Step) candidate { return candidate{s.Name, string(s.State)} })
}

// taskNames lists templates, and handlers of tasks with one step.
func taskNames(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error) {
	return both(func(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error) {
		page, err := c.Templates(ctx, tasker.TemplateFilter{Namespace: a.namespace, Limit: completionSize})
		if err != nil {
			return nil, err
		}
		return listed(page.Templates, nil, func(t *tasker.Template) candidate { return candidate{t.Name, t.Description} })
	}, ofTasks(func(t *tasker.Task) []string { return []string{t.Name} }))(ctx, c, a)
}

// versions lists those of the template in the first argument, or of all.
func versions(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error) {
	filter := tasker.TemplateFilter{Namespace: a.namespace, Limit: completionSize}
	if len(a.args) > 0 {
		filter.Name = a.args[0]
		if namespace, name, qualified := strings.Cut(a.args[0], "/"); qualified {
			filter.Namespace, filter.Name = namespace, name
		}
	}
	page, err := c.Templates(ctx, filter)
	if err != nil {
		return nil, err
	}
	return listed(page.Templates, nil, func(t *tasker.Template) candidate {
		return candidate{t.Version, qualified(t.Namespace, t.Name)}
	})
}

func ofTasks(values func(*tasker.Task) []string) candidates {
	return func(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error) {
		page, err := c.Tasks(ctx, tasker.TaskFilter{Namespace: a.namespace, Limit: completionSize})
		if err != nil {
			return nil, err
		}
		var all []string
		for i := range page.Tasks {
			all = append(all, values(&page.Tasks[i])...)
		}
		return listed(all, nil, func(v *string) candidate { return candidate{*v, ""} })
	}
}

func ofLetters(value func(*deadletters.Letter) string) candidates {
	return func(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error) {
		filter := deadletters.LetterFilter{Limit: completionSize}
		filter.Namespace = a.namespace
		page, err := deadletters.Of(c).Letters(ctx, filter)
		if err != nil {
			return nil, err
		}
		return listed(page.Letters, nil, func(l *deadletters.Letter) candidate { return candidate{value(l), ""} })
	}
}

func ofAudit(value func(*operate.AuditRecord) string) candidates {
	return func(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error) {
		acts, err := operate.Of(c).Audit(ctx, operate.AuditFilter{Namespace: a.namespace, Limit: 1000})
		return listed(acts, err, func(r *operate.AuditRecord) candidate { return candidate{value(r), ""} })
	}
}

func handlers(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	page, err := queueapi.Of(c).Routes(ctx, queueapi.RouteFilter{Limit: 1000})
	if err != nil {
		return nil, err
	}
	return listed(page.Routes, nil, func(r *queueapi.Route) candidate {
		return candidate{qualified(r.Namespace, r.Handler), ""}
	})
}

func paused(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	page, err := flow.Of(c).Pauses(ctx, flow.PauseFilter{Limit: completionSize})
	if err != nil {
		return nil, err
	}
	return listed(page.Pauses, nil, func(p *flow.Pause) candidate {
		switch p.Kind {
		case flow.Namespace:
			return candidate{p.Namespace, string(p.Kind)}
		case flow.Template:
			return candidate{qualified(p.Namespace, p.Template), string(p.Kind)}
		default:
			return candidate{qualified(p.Namespace, p.Handler), string(p.Kind)}
		}
	})
}

func capabilities(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	list, err := protocol.Of(c).Workers(ctx)
	var all []string
	for i := range list {
		all = append(all, list[i].Capabilities...)
	}
	return listed(all, err, func(v *string) candidate { return candidate{*v, ""} })
}

func failedSteps(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error) {
	list, err := operate.Of(c).Cases(ctx, operate.CaseFilter{Namespace: a.namespace, Limit: completionSize})
	return listed(list, err, func(k *operate.Case) candidate {
		return candidate{k.FailedStep, qualified(k.Namespace, k.TaskName)}
	})
}

func approvalSteps(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	page, err := waits.Of(c).Approvals(ctx, waits.ApprovalFilter{Limit: completionSize})
	if err != nil {
		return nil, err
	}
	return listed(page.Approvals, nil, func(w *waits.Approval) candidate {
		return candidate{w.Step, qualified(w.Namespace, w.Template)}
	})
}

func fingerprints(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error) {
	report, err := operate.Of(c).FailureReport(ctx, a.namespace)
	if err != nil {
		return nil, err
	}
	return listed(report.Fingerprints, nil, func(f *operate.FingerprintCount) candidate {
		return candidate{f.Fingerprint, string(f.FailureReason)}
	})
}

func owners(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error) {
	page, err := deadletters.Of(c).Groups(ctx, deadletters.GroupFilter{Namespace: a.namespace, Limit: 1000})
	if err != nil {
		return nil, err
	}
	return listed(page.Groups, nil, func(g *deadletters.Group) candidate { return candidate{g.Owner, ""} })
}

func queues(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error) {
	list, err := deadletters.Of(c).Sources(ctx, a.namespace)
	return listed(list, err, func(s *deadletters.SourceStatus) candidate { return candidate{s.Queue, s.Name} })
}

func topics(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error) {
	list, err := deadletters.TopicsOf(c).Topics(ctx, a.namespace)
	return listed(list, err, func(t *deadletters.DeadTopic) candidate { return candidate{t.Topic, ""} })
}

func messages(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error) {
	return ofMessages(ctx, c, a, func(m *deadletters.DeadMessage) candidate {
		return candidate{m.EventID, string(m.Status) + "  " + m.OriginalTopic}
	})
}

func eventTypesOfMessages(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error) {
	return ofMessages(ctx, c, a, func(m *deadletters.DeadMessage) candidate { return candidate{m.EventType, ""} })
}

func ofMessages(ctx context.Context, c *tasker.Client, a asked, of func(*deadletters.DeadMessage) candidate,
) ([]candidate, error) {
	page, err := deadletters.TopicsOf(c).Messages(ctx, deadletters.MessageFilter{Namespace: a.namespace,
		Limit: completionSize})
	if err != nil {
		return nil, err
	}
	return listed(page.Messages, nil, of)
}

func signalNames(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	return ofSignals(ctx, c, func(s *waits.Signal) candidate { return candidate{s.Name, s.Key} })
}

func signalKeys(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	return ofSignals(ctx, c, func(s *waits.Signal) candidate { return candidate{s.Key, s.Name} })
}

func ofSignals(ctx context.Context, c *tasker.Client, of func(*waits.Signal) candidate) ([]candidate, error) {
	page, err := waits.Of(c).Signals(ctx, waits.SignalFilter{Limit: completionSize})
	if err != nil {
		return nil, err
	}
	return listed(page.Signals, nil, of)
}
