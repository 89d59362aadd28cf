package cli

import (
	"context"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/flow"
	"github.com/taskerhq/tasker/operate"
	"github.com/taskerhq/tasker/schedules"
	"github.com/taskerhq/tasker/worker/protocol"
)

func tasks(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	page, err := c.Tasks(ctx, tasker.TaskFilter{Limit: completionSize})
	if err != nil {
		return nil, err
	}
	return listed(page.Tasks, nil, func(t *tasker.Task) candidate {
		return candidate{t.TaskUUID.String(), string(t.State) + "  " + qualified(t.Namespace, t.Name)}
	})
}

func templates(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	page, err := c.Templates(ctx, tasker.TemplateFilter{Limit: completionSize})
	if err != nil {
		return nil, err
	}
	return listed(page.Templates, nil, func(t *tasker.Template) candidate {
		return candidate{qualified(t.Namespace, t.Name), t.Description}
	})
}

func namespaces(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	page, err := c.Templates(ctx, tasker.TemplateFilter{Limit: 1000})
	if err != nil {
		return nil, err
	}
	return listed(page.Templates, nil, func(t *tasker.Template) candidate { return candidate{t.Namespace, ""} })
}

func workerIDs(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	list, err := protocol.Of(c).Workers(ctx)
	return listed(list, err, func(w *protocol.WorkerInfo) candidate {
		return candidate{w.WorkerID.String(), workerStatus(w) + "  " + w.Name}
	})
}

func cases(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	list, err := operate.Of(c).Cases(ctx, operate.CaseFilter{Limit: completionSize})
	return listed(list, err, func(k *operate.Case) candidate {
		return candidate{k.CaseUUID.String(), string(k.ResolutionStatus) + "  " + qualified(k.Namespace, k.TaskName)}
	})
}

func groups(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	page, err := deadletters.Of(c).Groups(ctx, deadletters.GroupFilter{Limit: completionSize})
	if err != nil {
		return nil, err
	}
	return listed(page.Groups, nil, func(g *deadletters.Group) candidate {
		return candidate{g.GroupID, string(g.State) + "  " + g.Title}
	})
}

func letters(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	page, err := deadletters.Of(c).Letters(ctx, deadletters.LetterFilter{Limit: completionSize})
	if err != nil {
		return nil, err
	}
	return listed(page.Letters, nil, func(l *deadletters.Letter) candidate {
		return candidate{l.LetterUUID.String(), letterState(l) + "  " + failureLine(&l.Failure)}
	})
}

func redrives(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	page, err := deadletters.Of(c).Redrives(ctx, deadletters.RedriveFilter{Limit: completionSize})
	if err != nil {
		return nil, err
	}
	return listed(page.Redrives, nil, func(r *deadletters.Redrive) candidate {
		return candidate{r.RedriveUUID.String(), string(r.State) + "  " + string(r.Operation)}
	})
}

func replays(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	page, err := deadletters.Of(c).Replays(ctx, deadletters.ReplayFilter{Limit: completionSize})
	if err != nil {
		return nil, err
	}
	return listed(page.Replays, nil, func(r *deadletters.TopicReplay) candidate {
		return candidate{r.ReplayUUID.String(), string(r.State) + "  " + r.Source}
	})
}

func sources(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error) {
	list, err := deadletters.Of(c).Sources(ctx, a.namespace)
	return listed(list, err, func(s *deadletters.SourceStatus) candidate { return candidate{s.Name, string(s.Driver)} })
}

func rules(ctx context.Context, c *tasker.Client, a asked) ([]candidate, error) {
	list, err := deadletters.Of(c).Rules(ctx, a.namespace)
	return listed(list, err, func(r *deadletters.SavedRule) candidate { return candidate{r.Name, r.When} })
}

func webhooks(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	list, err := deadletters.Of(c).Webhooks(ctx)
	return listed(list, err, func(w *deadletters.Webhook) candidate { return candidate{w.Name, w.URL} })
}

func outages(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	page, err := flow.Of(c).Outages(ctx, flow.OutageFilter{Limit: completionSize})
	if err != nil {
		return nil, err
	}
	return listed(page.Outages, nil, func(o *flow.Outage) candidate {
		return candidate{o.OutageUUID.String(), string(o.State) + "  " + o.Title}
	})
}

func limited(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	page, err := flow.Of(c).Limits(ctx, flow.LimitFilter{Limit: completionSize})
	if err != nil {
		return nil, err
	}
	return listed(page.Limits, nil, func(l *flow.Limit) candidate {
		return candidate{qualified(l.Namespace, l.Handler), boundsText(l)}
	})
}

func scheduleNames(ctx context.Context, c *tasker.Client, _ asked) ([]candidate, error) {
	page, err := schedules.Of(c).Schedules(ctx, schedules.Filter{Limit: completionSize})
	if err != nil {
		return nil, err
	}
	return listed(page.Schedules, nil, func(of *schedules.Schedule) candidate {
		return candidate{of.Name, of.Cron}
	})
}
