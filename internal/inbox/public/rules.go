package public

import (
	"cmp"
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/failure"
	"github.com/taskerhq/tasker/internal/inbox"
)

// The answer has no faults: a saved version has not been evaluated yet.
func (b *backend) SaveRule(ctx context.Context, req deadletters.RuleRequest) (*deadletters.SavedRule, error) {
	var r reader
	return acted(ctx, &r, b.inbox.SaveRule, r.rule(&req.Rule), r.by(req.Act), shownRule)
}

func (b *backend) SplitGroup(ctx context.Context, id string, req deadletters.SplitRequest) (*deadletters.SavedRule,
	error,
) {
	var r reader
	split := inbox.SplitRequest{By: r.by(req.Act), Name: req.Name, When: req.When, Keys: req.GroupBy, Title: req.Title}
	return acted(ctx, &r, b.inbox.SplitGroup, r.group("path.group_id", id), split, shownRule)
}

func (b *backend) UnsplitGroup(ctx context.Context, id string, act deadletters.Act) (*deadletters.Group, error) {
	var r reader
	return acted(ctx, &r, b.inbox.UnsplitGroup, r.group("path.group_id", id), r.by(act), shownGroup)
}

func (b *backend) DropRule(ctx context.Context, namespace, name string, act deadletters.Act) error {
	by, err := actor(act)
	if err != nil {
		return err
	}
	return shownError(b.inbox.RemoveRule(ctx, within(namespace), name, by))
}

func (b *backend) Rules(ctx context.Context, namespace string) ([]deadletters.SavedRule, error) {
	return shownList(shownRuleStatus)(b.inbox.Rules(ctx, namespace))
}

// Faults are those of the version in force; earlier ones have none.
func (b *backend) Rule(ctx context.Context, namespace, name string) (*deadletters.RuleStory, error) {
	return shown(shownRuleStory)(b.inbox.Rule(ctx, within(namespace), name))
}

func shownRuleStory(s *inbox.RuleStory) deadletters.RuleStory {
	return deadletters.RuleStory{SavedRule: shownRuleStatus(s.RuleStatus), Versions: each(s.Versions, shownRule)}
}

// Faults of the rule are relocated: in the request it is a member.
func (b *backend) TestRule(ctx context.Context, test deadletters.RuleTest) (*deadletters.RuleTrial, error) {
	var r reader
	t := inbox.RuleTest{Rule: r.rule(&test.Rule)}
	if test.GroupID != "" {
		t.Group = r.group("/group_id", test.GroupID)
	}
	if test.Failure != nil {
		t.Facts = r.facts("/failure", test.Failure)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	trial, err := b.inbox.TestRule(ctx, t)
	if err != nil {
		for _, field := range []string{"/when", "/group_by", "/name", "/title", "/position", "/namespace"} {
			err = relocated(err, field, "/rule"+field)
		}
		return nil, shownError(err)
	}
	out := &deadletters.RuleTrial{Tried: trial.Tried, Matched: trial.Matched, Failed: trial.Failed,
		Items: []deadletters.RuleItem{}}
	for _, item := range trial.Items {
		shown := deadletters.RuleItem{Kind: item.Kind, ID: optionalID(item.ID), Matched: item.Matched,
			GroupID: shownGroupID(item.Group), Error: item.Error}
		if item.Matched {
			shown.Title, shown.Keys = item.Print.Title(), item.Print.Keys()
		}
		out.Items = append(out.Items, shown)
	}
	return out, nil
}

// rule converts a rule. What it splits is not read: only a split sets that.
func (r *reader) rule(in *deadletters.Rule) *deadletter.Rule {
	return &deadletter.Rule{Namespace: within(in.Namespace), Name: in.Name, Position: in.Position,
		When: in.When, Keys: in.GroupBy, Title: in.Title}
}

// facts converts a failure that somebody describes. Its kind defaults to letter.
func (r *reader) facts(at string, in *deadletters.RuleSample) *deadletter.Facts {
	if in.Class != "" && !failure.Class(in.Class).Known() {
		r.bad(at+"/class", "must be transient, resource, logic or worker")
	}
	kind := cmp.Or(in.Kind, deadletters.KindLetter)
	if kind != deadletters.KindLetter && kind != deadletters.KindCase {
		r.bad(at+"/kind", "must be letter or case")
	}
	return &deadletter.Facts{Kind: kind, Failure: failure.Report{Type: in.ErrorType, Code: in.Code,
		Message: in.Message, Class: failure.Class(in.Class), Retryable: in.Retryable}, Frame: in.Frame,
		Handler: in.Handler, Source: in.Source, Origin: in.Origin, Template: in.Template, Step: in.Step,
		Reason: in.Reason, Headers: r.headers(at+"/headers", in.Headers)}
}

// shownRule converts a rule. Splits is "" for a rule about all failures.
func shownRule(r *deadletter.Rule) deadletters.SavedRule {
	return deadletters.SavedRule{Rule: deadletters.Rule{Namespace: r.Namespace, Name: r.Name, Position: r.Position,
		When: r.When, GroupBy: r.Keys, Title: r.Title}, Splits: shownGroupID(r.Within), Version: r.Version,
		Since: r.Since, SavedAt: r.SavedAt.Time(), Actor: r.Actor, KeyName: r.Key, Reason: r.Reason, Removed: r.Removed,
		ETag: etag(r.Version)}
}

func shownRuleStatus(s inbox.RuleStatus) deadletters.SavedRule {
	out := shownRule(s.Rule)
	out.Failed, out.LastError = s.Faults.Count, s.Faults.Last
	return out
}

func (b *backend) Webhooks(ctx context.Context) ([]deadletters.Webhook, error) {
	out := []deadletters.Webhook{}
	for _, to := range b.inbox.Endpoints(ctx) {
		events := to.Events
		if len(events) == 0 {
			events = deadletter.DefaultHookTypes
		}
		shown := deadletters.Webhook{Name: to.Name, URL: to.Shown(), Namespaces: to.Namespaces, Secrets: len(to.Secrets)}
		for _, e := range events {
			shown.Events = append(shown.Events, deadletters.WebhookType(e))
		}
		out = append(out, shown)
	}
	return out, nil
}

func (b *backend) TestWebhook(ctx context.Context, name string) (*deadletters.WebhookAnswer, error) {
	test, err := b.inbox.TestWebhook(ctx, name)
	if err != nil {
		return nil, shownError(err)
	}
	return &deadletters.WebhookAnswer{Name: name, MessageID: test.MessageID, Delivered: test.Error == "",
		Status: test.Status, Seconds: test.Took.Seconds(), Error: test.Error}, nil
}
