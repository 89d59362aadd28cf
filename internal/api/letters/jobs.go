package letters

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/dlqapi"
	"github.com/taskerhq/tasker/internal/api/refusal"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/compat"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/posturl"
	"github.com/taskerhq/tasker/internal/model/task"
)

// jobs is a dlqapi.Backend on an Inbox. It is safe for concurrent use.
type jobs struct{ inbox *inbox.Inbox }

// NewJobs returns the Backend of an Inbox.
func NewJobs(in *inbox.Inbox) dlqapi.Backend { return &jobs{in} }

func (b *jobs) Queues(ctx context.Context, namespace string) ([]dlqapi.Queue, error) {
	return shownList(func(q compat.Queue) dlqapi.Queue {
		return dlqapi.Queue{Name: q.Name, Count: q.Depth(), CountCapped: q.Capped}
	})(b.inbox.Queues(ctx, within(namespace)))
}

func (b *jobs) find(ctx context.Context, of dlqapi.Name) (*compat.Queue, error) {
	return b.inbox.FindQueue(ctx, within(of.Namespace), of.Queue)
}

func (b *jobs) Jobs(ctx context.Context, of dlqapi.Name, start, limit int) (*dlqapi.Page, error) {
	q, err := b.find(ctx, of)
	if err != nil {
		return nil, refusal.ToError(err)
	}
	letters, total, err := b.inbox.QueueLetters(ctx, q, start, limit)
	if err != nil {
		return nil, refusal.ToError(err)
	}
	return &dlqapi.Page{QueueName: q.Name,
		Items: each(letters, func(l *deadletter.Letter) dlqapi.Job { return shownJob(l, q) }),
		Pagination: dlqapi.Pagination{Total: min(total, compat.CountedLetters), TotalCapped: total > compat.CountedLetters,
			Limit: limit, Offset: start, HasMore: start+len(letters) < total && len(letters) > 0}}, nil
}

func changed[T, U any](ctx context.Context, b *jobs, of dlqapi.Name, act deadletters.Act,
	change func(*compat.Queue, inbox.By) (T, error), convert func(*compat.Queue, T) U,
) (out U, err error) {
	by, err := actor(act)
	if err != nil {
		return out, err
	}
	q, err := b.find(ctx, of)
	if err != nil {
		return out, refusal.ToError(err)
	}
	done, err := change(q, by)
	if err != nil {
		return out, refusal.ToError(err)
	}
	return convert(q, done), nil
}

func (b *jobs) Requeue(ctx context.Context, of dlqapi.Name, req dlqapi.Requeue) (*dlqapi.Requeued, error) {
	return changed(ctx, b, of, req.Act, func(q *compat.Queue, by inbox.By) (compat.Requeued, error) {
		return b.inbox.Requeue(ctx, q, compat.Requeue{By: by, Letter: task.ID(req.Job), Limit: req.Limit,
			IncludeParked: req.IncludeParked, Destination: req.Target})
	}, func(q *compat.Queue, done compat.Requeued) *dlqapi.Requeued {
		return &dlqapi.Requeued{Queue: q.Name, Target: cmp.Or(done.Destination, q.Origin()), Sent: done.Sent,
			Failed: done.Failed, Pending: done.Pending, Skipped: done.Skipped, Parked: done.Parked, More: done.More,
			Why: done.Why, RedriveUUIDs: each(done.Redrives, shownID)}
	})
}

func (b *jobs) Clear(ctx context.Context, of dlqapi.Name, act deadletters.Act) (*dlqapi.Cleared, error) {
	return changed(ctx, b, of, act, func(q *compat.Queue, by inbox.By) (compat.Cleared, error) {
		return b.inbox.ClearQueue(ctx, q, by)
	}, shownCleared)
}

func (b *jobs) Restore(ctx context.Context, of dlqapi.Name, at time.Time, act deadletters.Act,
) (*dlqapi.Cleared, error) {
	return changed(ctx, b, of, act, func(q *compat.Queue, by inbox.By) (compat.Cleared, error) {
		var when task.Instant
		if !at.IsZero() {
			when = task.At(at)
		}
		return b.inbox.RestoreQueue(ctx, q, when, by)
	}, shownCleared)
}

func shownCleared(q *compat.Queue, c compat.Cleared) *dlqapi.Cleared {
	return &dlqapi.Cleared{Queue: q.Name, Count: c.Letters, At: c.At.Time(), More: c.More}
}

func (b *jobs) DiscardJob(ctx context.Context, of dlqapi.Name, id uuid.UUID, act deadletters.Act) (string, error) {
	return b.changedJob(ctx, of, id, act, b.inbox.DiscardLetter)
}

func (b *jobs) RestoreJob(ctx context.Context, of dlqapi.Name, id uuid.UUID, act deadletters.Act) (string, error) {
	return b.changedJob(ctx, of, id, act, b.inbox.RestoreLetter)
}

func (b *jobs) changedJob(ctx context.Context, of dlqapi.Name, id uuid.UUID, act deadletters.Act,
	change func(context.Context, task.ID, inbox.By) (*deadletter.Letter, error),
) (queue string, err error) {
	return changed(ctx, b, of, act, func(q *compat.Queue, by inbox.By) (*deadletter.Letter, error) {
		if _, err := b.inbox.QueueLetter(ctx, q, task.ID(id)); err != nil {
			return nil, err
		}
		return change(ctx, task.ID(id), by)
	}, func(q *compat.Queue, _ *deadletter.Letter) string { return q.Name })
}

const jobStack, jobResponse = 4096, 2048

// pythonTime is ISO 8601 in Python's form, which all its versions parse.
const pythonTime = "2006-01-02T15:04:05.000000-07:00"

// shownJob converts a letter to a JobFailure. Fields that only the message had are in the letter's details.
func shownJob(l *deadletter.Letter, q *compat.Queue) dlqapi.Job {
	job := dlqapi.Job{
		OriginalJob: originalJob(l.Outgoing().Payload), Error: l.Failure.Message, AttemptCount: l.Attempts,
		FirstFailedAt: l.FirstAt.Time().UTC().Format(pythonTime), LastFailedAt: l.LastAt.Time().UTC().Format(pythonTime),
		QueueName: cmp.Or(posturl.Redact(l.Origin), q.Origin()), ErrorType: given(l.Failure.Type), ID: uuid.UUID(l.ID),
		State: string(l.State), Replays: l.Replays, Parked: l.Parked, Namespace: l.Namespace, Source: l.Source,
	}
	if l.Stack != "" {
		job.StackTrace = given(failure.Cut(l.Stack, jobStack))
	}
	for _, d := range l.Details {
		switch d.Name {
		case "http_status":
			if n, err := strconv.Atoi(d.Value); err == nil {
				job.HTTPStatus = &n
			}
		case "response_body":
			job.ResponseBody = given(failure.Cut(d.Value, jobResponse))
		case "retry_delays":
			if json.Unmarshal([]byte(d.Value), &[]float64{}) == nil {
				job.RetryDelays = json.RawMessage(d.Value)
			}
		case "context":
			if json.Valid([]byte(d.Value)) {
				job.Context = json.RawMessage(d.Value)
			}
		}
	}
	return job
}

// originalJob shows a payload as JSON, as a string, or as base64.
func originalJob(payload []byte) json.RawMessage {
	if json.Valid(payload) && utf8.Valid(payload) {
		return payload
	}
	var shown any = string(payload)
	if !utf8.Valid(payload) {
		shown = map[string]string{"base64": base64.StdEncoding.EncodeToString(payload)}
	}
	text, _ := json.Marshal(shown) // a string and a map of strings never fail
	return text
}
