package public

import (
	"cmp"
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/posturl"
)

// The answer has the URL without its secrets.
func (b *backend) SaveSource(ctx context.Context, req deadletters.SourceRequest) (*deadletters.Source, error) {
	var r reader
	return acted(ctx, &r, b.inbox.SaveSource, r.source(&req.Source), r.by(req.Act), shownSource)
}

func (b *backend) DropSource(ctx context.Context, namespace, name string, act deadletters.Act) error {
	by, err := actor(act)
	if err != nil {
		return err
	}
	return shownError(b.inbox.DropSource(ctx, cmp.Or(namespace, defaultNamespace), name, by))
}

func (b *backend) Sources(ctx context.Context, namespace string) ([]deadletters.SourceStatus, error) {
	return shownList(shownStatus)(b.inbox.Sources(ctx, namespace))
}

func (b *backend) Source(ctx context.Context, namespace, name string) (*deadletters.SourceStatus, error) {
	return shown(shownStatus)(b.inbox.Source(ctx, cmp.Or(namespace, defaultNamespace), name))
}

func (b *backend) TestSource(ctx context.Context, namespace, name string) (*deadletters.SourceStatus, error) {
	return shown(shownStatus)(b.inbox.TestSource(ctx, cmp.Or(namespace, defaultNamespace), name))
}

func (b *backend) PauseSource(ctx context.Context, namespace, name string, paused bool, act deadletters.Act,
) (*deadletters.Source, error) {
	by, err := actor(act)
	if err != nil {
		return nil, err
	}
	return shown(shownSource)(b.inbox.PauseSource(ctx, cmp.Or(namespace, defaultNamespace), name, paused, by))
}

func shownStatus(s *inbox.SourceStatus) deadletters.SourceStatus {
	out := deadletters.SourceStatus{Source: shownSource(s.Source), State: deadletters.SourceState(s.State), Error: s.Error,
		Since: optionalTime(s.Since), Open: s.Open, OpenCapped: s.OpenCapped, Preview: shownPreviews(s.Preview)}
	for _, p := range s.Policies {
		out.Policies = append(out.Policies, shownPolicy(p))
	}
	if s.Waiting >= 0 {
		out.Waiting = &s.Waiting
	}
	if of := s.Oversized; of.Messages > 0 {
		out.Oversized = &deadletters.Oversized{Messages: of.Messages, FirstPosition: of.First, LargestBytes: of.Largest,
			Since: optionalTime(of.Since)}
	}
	return out
}

// shownSource converts a source. Its URL must never leave the process with a password.
func shownSource(s *deadletter.Source) deadletters.Source {
	return deadletters.Source{Namespace: s.Namespace, Name: s.Name, Driver: s.Driver, URL: hidden(s.URL), Queue: s.Queue,
		Format: s.Format, Targets: posturl.RedactAll(s.Targets), MaxReplays: s.MaxReplays, MaxOpen: s.MaxOpen,
		Paused: s.Paused, Intake: shownIntake(s.Intake), Sensitive: s.Sensitive, SensitiveHeaders: s.SensitiveHeaders,
		ETag: etag(s.Version)}
}

// source converts a source, and refuses a URL whose password was hidden by an answer.
func (r *reader) source(s *deadletters.Source) *deadletter.Source {
	if isHidden(s.URL) {
		r.bad("/url", "has a hidden password, as answers show it: give the password itself")
	}
	return &deadletter.Source{Namespace: cmp.Or(s.Namespace, defaultNamespace), Name: s.Name, Driver: s.Driver,
		URL: s.URL, Queue: s.Queue, Format: s.Format, Targets: s.Targets, MaxReplays: s.MaxReplays, MaxOpen: s.MaxOpen,
		Paused: s.Paused, Intake: readIntake(s.Intake), Sensitive: s.Sensitive, SensitiveHeaders: s.SensitiveHeaders}
}
