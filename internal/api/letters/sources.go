package letters

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/api/refusal"
	"github.com/taskerhq/tasker/internal/inbox/sources"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/posturl"
)

func (b *backend) SaveSource(ctx context.Context, req deadletters.SourceRequest) (*deadletters.Source, error) {
	var r reader
	return acted(ctx, &r, b.inbox.SaveSource, r.source(&req.Source), r.by(req.Act), shownSource)
}

func (b *backend) DropSource(ctx context.Context, namespace, name string, act deadletters.Act) error {
	by, err := actor(act)
	if err != nil {
		return err
	}
	return refusal.ToError(b.inbox.DropSource(ctx, within(namespace), name, by))
}

func (b *backend) Sources(ctx context.Context, namespace string) ([]deadletters.SourceStatus, error) {
	return shownList(shownStatus)(b.inbox.Sources(ctx, namespace))
}

func (b *backend) Source(ctx context.Context, namespace, name string) (*deadletters.SourceStatus, error) {
	return shown(shownStatus)(b.inbox.Source(ctx, within(namespace), name))
}

func (b *backend) TestSource(ctx context.Context, namespace, name string) (*deadletters.SourceStatus, error) {
	return shown(shownStatus)(b.inbox.TestSource(ctx, within(namespace), name))
}

func (b *backend) PauseSource(ctx context.Context, namespace, name string, paused bool, act deadletters.Act,
) (*deadletters.Source, error) {
	by, err := actor(act)
	if err != nil {
		return nil, err
	}
	return shown(shownSource)(b.inbox.PauseSource(ctx, within(namespace), name, paused, by))
}

func shownStatus(s *sources.SourceStatus) deadletters.SourceStatus {
	out := deadletters.SourceStatus{Source: shownSource(s.Source), State: deadletters.SourceState(s.State), Error: s.Error,
		Since: s.Since.Time(), Open: s.Open, OpenCapped: s.OpenCapped, Preview: some(s.Preview, shownIntakePreview),
		Policies: some(s.Policies, shownPolicy)}
	if s.Waiting >= 0 {
		out.Waiting = &s.Waiting
	}
	if of := s.Oversized; of.Messages > 0 {
		out.Oversized = &deadletters.Oversized{Messages: of.Messages, FirstPosition: of.First, LargestBytes: of.Largest,
			Since: of.Since.Time()}
	}
	return out
}

// shownSource: the URL must never leave the process with a password.
func shownSource(s *deadletter.Source) deadletters.Source {
	visible, _ := hidden(s.URL)
	return deadletters.Source{Namespace: s.Namespace, Name: s.Name, Driver: s.Driver, URL: visible, Queue: s.Queue,
		Format: s.Format, Targets: posturl.RedactAll(s.Targets), MaxReplays: s.MaxReplays, MaxOpen: s.MaxOpen,
		Paused: s.Paused, Intake: shownIntake(s.Intake), Sensitive: s.Sensitive, SensitiveHeaders: s.SensitiveHeaders,
		ETag: etag(s.Version)}
}

// source refuses a URL whose password an answer has hidden.
func (r *reader) source(s *deadletters.Source) *deadletter.Source {
	if _, was := hidden(s.URL); was {
		r.bad("/url", "has a hidden password, as answers show it: give the password itself")
	}
	return &deadletter.Source{Namespace: within(s.Namespace), Name: s.Name, Driver: s.Driver,
		URL: s.URL, Queue: s.Queue, Format: s.Format, Targets: s.Targets, MaxReplays: s.MaxReplays, MaxOpen: s.MaxOpen,
		Paused: s.Paused, Intake: readIntake(s.Intake), Sensitive: s.Sensitive, SensitiveHeaders: s.SensitiveHeaders}
}

func (b *backend) SavePolicy(ctx context.Context, req deadletters.PolicyRequest) (*deadletters.Policy, error) {
	var r reader
	policy, by := r.policy(&req.Policy), r.by(req.Act)
	if req.SetFrom == model.SetByPreset { // the only value that a caller may set
		policy.SetFrom = model.SetByPreset
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	saved, err := b.inbox.SavePolicy(ctx, policy, by)
	for domain, public := range deadletter.PolicyFields {
		err = refusal.Moved(err, domain, public)
	}
	return shown(shownPolicy)(saved, err)
}

func (b *backend) DropPolicy(ctx context.Context, namespace, source, origin string, act deadletters.Act) error {
	by, err := actor(act)
	if err != nil {
		return err
	}
	return refusal.ToError(b.inbox.DropPolicy(ctx, within(namespace), unstarred(source), origin, by))
}

func (b *backend) Policies(ctx context.Context, namespace string) ([]deadletters.Policy, error) {
	return shownList(shownPolicy)(b.inbox.Policies(ctx, namespace))
}

// policy ignores the ETag: the expected version is part of the act.
func (r *reader) policy(p *deadletters.Policy) *deadletter.Policy {
	return &deadletter.Policy{
		Namespace: within(p.Namespace), Source: unstarred(p.Source), Origin: p.Origin, Strategy: p.Strategy,
		MaxRetries: p.MaxRetries, KeepExhausted: p.KeepExhausted, Base: r.seconds("/base_seconds", p.BaseSeconds),
		Cap: r.seconds("/cap_seconds", p.CapSeconds), Multiplier: p.Multiplier, Jitter: p.Jitter,
		At: r.timeOfDay("/time_of_day", p.TimeOfDay), MaxAge: r.seconds("/max_age_seconds", p.MaxAgeSeconds),
		OnlyTypes: p.OnlyTypes, DiscardTests: p.DiscardTests, CopyRetries: p.CopyRetries,
	}
}

func unstarred(name string) string {
	if name == deadletters.AllSources {
		return ""
	}
	return name
}

// shownPolicy: only a scheduled policy has a time of day, because midnight is 0 in the domain, like no time.
func shownPolicy(p *deadletter.Policy) deadletters.Policy {
	out := deadletters.Policy{
		Namespace: p.Namespace, Source: cmp.Or(p.Source, deadletters.AllSources), Origin: p.Origin, Strategy: p.Strategy,
		MaxRetries: p.MaxRetries, KeepExhausted: p.KeepExhausted, BaseSeconds: p.Base.Seconds(),
		CapSeconds: p.Cap.Seconds(), Multiplier: p.Multiplier, Jitter: p.Jitter, MaxAgeSeconds: p.MaxAge.Seconds(),
		OnlyTypes: p.OnlyTypes, DiscardTests: p.DiscardTests, CopyRetries: p.CopyRetries,
		SetFrom: cmp.Or(p.SetFrom, model.SetByOperator), SetBy: p.SetBy, SetAt: p.SetAt.Ptr(), ETag: etag(p.Version),
	}
	if p.Strategy == model.Scheduled {
		out.TimeOfDay = fmt.Sprintf("%02d:%02d", int(p.At/time.Hour), int(p.At%time.Hour/time.Minute))
	}
	return out
}

const hiddenText = "xxxxx"

// secretWords are parts of the names of parameters with secrets. Hiding too much is harmless.
var secretWords = []string{"pass", "secret", "token", "key", "credential", "pwd"}

// hidden returns the URL of a broker with its secrets replaced. It hides an unparsable URL whole. was reports an
// already replaced secret: such a URL is from an answer of this API, and storing it would lose the password.
func hidden(raw string) (shown string, was bool) {
	u, err := url.Parse(raw)
	if err != nil {
		return hiddenText, false
	}
	was = raw == hiddenText
	if password, has := u.User.Password(); has {
		was = was || password == hiddenText
		u.User = url.UserPassword(u.User.Username(), hiddenText)
	}
	values, err := url.ParseQuery(u.RawQuery)
	changed := false
	for name := range values {
		if isSecret(name) {
			was = was || values.Get(name) == hiddenText
			values.Set(name, hiddenText)
			changed = true
		}
	}
	switch {
	case err != nil:
		u.RawQuery = hiddenText
	case changed: // Encode sorts the parameters, so a URL without secrets stays as given
		u.RawQuery = values.Encode()
	}
	return u.String(), was
}

func isSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}

func (b *backend) Webhooks(ctx context.Context) ([]deadletters.Webhook, error) {
	out := []deadletters.Webhook{}
	for _, to := range b.inbox.Endpoints(ctx) {
		events := to.Events
		if len(events) == 0 {
			events = deadletter.DefaultHookTypes
		}
		out = append(out, deadletters.Webhook{Name: to.Name, URL: to.Shown(), Namespaces: to.Namespaces,
			Secrets: len(to.Secrets),
			Events:  each(events, func(e string) deadletters.WebhookType { return deadletters.WebhookType(e) })})
	}
	return out, nil
}

func (b *backend) TestWebhook(ctx context.Context, name string) (*deadletters.WebhookAnswer, error) {
	answer, err := b.inbox.TestWebhook(ctx, name)
	return answer, refusal.ToError(err)
}
