package letters

import (
	"cmp"
	"context"
	"iter"
	"strconv"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/refusal"
	"github.com/taskerhq/tasker/internal/inbox/capture"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/failure"
	"github.com/taskerhq/tasker/internal/model/posturl"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (b *backend) Report(ctx context.Context, req deadletters.ReportRequest) ([]deadletters.Receipt, error) {
	var r reader
	reports := r.reports(&req)
	if err := r.err(); err != nil {
		return nil, err
	}
	return shownList(shownReceipt)(b.inbox.Report(ctx, within(req.Namespace), req.Source, reports))
}

func shownReceipt(r capture.Receipt) deadletters.Receipt {
	return deadletters.Receipt{LetterUUID: uuid.UUID(r.Letter), GroupID: shownGroupID(r.Group), Status: r.Status}
}

// Letters: the default limit is 50. Pages are ordered by ID, which grows with time, so a page stays the same while
// letters arrive.
func (b *backend) Letters(ctx context.Context, f deadletters.LetterFilter) (*deadletters.LetterPage, error) {
	var r reader
	filter := letters.LetterFilter{Selection: r.selection("", &f.Selection), Below: r.cursor(f.Cursor),
		Limit: cmp.Or(f.Limit, defaultPage)}
	r.inQuery()
	return asked(ctx, &r, b.inbox.Letters, filter, shownLetterPage)
}

func shownLetterPage(page letters.LetterPage) deadletters.LetterPage {
	out := deadletters.LetterPage{Letters: each(page.Letters, shownLetter)}
	if !page.Next.IsZero() {
		out.NextCursor = page.Next.String()
	}
	return out
}

func (b *backend) Letter(ctx context.Context, id uuid.UUID) (*deadletters.LetterStory, error) {
	return shown(shownLetterStory)(b.inbox.Letter(ctx, task.ID(id)))
}

// exportPage is the number of listed letters in memory; payloads are read one by one.
const exportPage = 200

// ExportLetters holds one page of IDs and one letter. It ignores the filter's limit. Letters that arrive during the
// export are newer than its first page, so they are not part of it.
func (b *backend) ExportLetters(ctx context.Context, f deadletters.LetterFilter,
) iter.Seq2[*deadletters.Letter, error] {
	return func(yield func(*deadletters.Letter, error) bool) {
		var r reader
		filter := letters.LetterFilter{Selection: r.selection("", &f.Selection), Below: r.cursor(f.Cursor), Limit: exportPage}
		r.inQuery()
		if err := r.err(); err != nil {
			yield(nil, err)
			return
		}
		for {
			page, err := b.inbox.Letters(ctx, filter)
			if err != nil {
				yield(nil, refusal.ToError(err))
				return
			}
			for _, l := range page.Letters {
				story, err := b.inbox.Letter(ctx, l.ID)
				if task.CodeOf(err) == task.NotFound {
					continue // purged meanwhile
				}
				if err != nil {
					yield(nil, refusal.ToError(err))
					return
				}
				if letter := shownLetter(story.Letter); !yield(&letter, nil) {
					return
				}
			}
			if filter.Below = page.Next; filter.Below.IsZero() {
				return
			}
		}
	}
}

func (b *backend) EditLetter(ctx context.Context, id uuid.UUID, edit deadletters.LetterEdit,
) (*deadletters.Letter, error) {
	var r reader
	change := letters.LetterEdit{By: r.by(edit.Act), Edit: r.edit("", &edit.Edit), Clear: edit.Clear}
	empty := change.Edit.Patch == nil && change.Edit.SetHeaders == nil && change.Edit.DropHeaders == nil &&
		change.Edit.Key == nil
	if change.Clear && !empty {
		r.bad("/clear", "excludes patch, headers and key")
	}
	return acted(ctx, &r, b.inbox.EditLetter, task.ID(id), change, shownLetter)
}

func (b *backend) DiscardLetter(ctx context.Context, id uuid.UUID, act deadletters.Act) (*deadletters.Letter, error) {
	var r reader
	return acted(ctx, &r, b.inbox.DiscardLetter, task.ID(id), r.by(act), shownLetter)
}

func (b *backend) RestoreLetter(ctx context.Context, id uuid.UUID, act deadletters.Act) (*deadletters.Letter, error) {
	var r reader
	return acted(ctx, &r, b.inbox.RestoreLetter, task.ID(id), r.by(act), shownLetter)
}

func shownLetter(l *deadletter.Letter) deadletters.Letter {
	out := deadletters.Letter{
		LetterUUID: uuid.UUID(l.ID), Namespace: l.Namespace, Source: l.Source, Origin: posturl.Redact(l.Origin),
		Format: l.Format, Position: l.Position, MessageID: l.MessageID, State: l.State, StateAt: l.StateAt.Time(),
		DueAt: l.Due.Ptr(), Reason: l.Reason, RedriveUUID: optionalID(l.Redrive), PurgeAt: l.PurgeAt.Ptr(),
		GroupID: shownGroupID(l.Group), Failure: shownFailure(l.Failure, l.Stack), Handler: l.Handler,
		Occurrences: l.Occurrences, Attempts: l.Attempts, Replays: l.Replays, Parked: l.Parked, Lineage: l.Lineage,
		Unknown: l.Unknown, LinkedUUID: optionalID(l.Link.Letter), LinkedBy: string(l.Link.Kind), FirstAt: l.FirstAt.Time(),
		LastAt: l.LastAt.Time(), CapturedAt: l.CapturedAt.Time(), Original: shownContent(l.Original), SizeBytes: l.Size,
		Cut: l.Cut, Undecoded: l.Undecoded, PayloadOmitted: l.Size > 0 && len(l.Original.Payload) == 0,
		ETag: etag(l.Version),
	}
	if l.Edited != nil {
		edited := shownContent(*l.Edited)
		out.Edited = &edited
	}
	return out
}

func shownOccurrence(o deadletter.Occurrence) deadletters.Occurrence {
	var died deadletters.Content
	died.SetPayload(o.Payload)
	return deadletters.Occurrence{No: o.No, At: o.At.Time(), GroupID: shownGroupID(o.Group),
		Failure: shownFailure(o.Failure, o.Stack), Handler: o.Handler, Origin: posturl.Redact(o.Origin),
		Position: o.Position, Attempts: o.Attempts, RedriveUUID: optionalID(o.Redrive), Payload: died.Payload,
		PayloadBase64: died.PayloadBase64}
}

func shownLetterStory(s *letters.LetterStory) deadletters.LetterStory {
	out := deadletters.LetterStory{Letter: shownLetter(s.Letter), History: each(s.Occurrences, shownOccurrence)}
	if s.Group != nil {
		group := shownGroup(s.Group)
		out.Group = &group
	}
	return out
}

func etag(version int64) string { return strconv.FormatInt(version, 10) }

func given[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

func optionalID(id task.ID) *uuid.UUID { return given(uuid.UUID(id)) }

func shownGroupID(id deadletter.GroupID) string {
	if id == 0 {
		return ""
	}
	return id.String()
}

// shownContent shows JSON or text as such, anything else in base64.
func shownContent(c deadletter.Content) deadletters.Content {
	out := deadletters.Content{Headers: some(c.Headers, shownHeader)}
	out.SetKey(c.Key)
	out.SetPayload(c.Payload)
	return out
}

func shownHeader(h deadletter.Header) deadletters.Header {
	return deadletters.NewHeader(h.Name, h.Value)
}

func shownFailure(r failure.Report, stack string) deadletters.LetterFailure {
	return deadletters.LetterFailure{Type: r.Type, Code: r.Code, Message: r.Message, Class: tasker.FailureClass(r.Class),
		Retryable: &r.Retryable, Stack: stack}
}

func shownEdit(e *deadletter.Edit) *deadletters.Edit {
	if e == nil {
		return nil
	}
	var key deadletters.Content
	key.SetKey(e.Key)
	return &deadletters.Edit{Patch: e.Patch, SetHeaders: some(e.SetHeaders, shownHeader), DropHeaders: e.DropHeaders,
		Key: key.Key, KeyBase64: key.KeyBase64}
}

func (b *backend) ExplainLetter(ctx context.Context, id uuid.UUID) (*deadletters.StateExplanation, error) {
	l, e, err := b.inbox.ExplainLetter(ctx, task.ID(id))
	if err != nil {
		return nil, refusal.ToError(err)
	}
	return &deadletters.StateExplanation{LetterUUID: &id, State: string(l.State), Summary: e.Summary, Why: e.Why,
		Next: e.Next}, nil
}

func (b *backend) ExplainRedrive(ctx context.Context, id uuid.UUID) (*deadletters.StateExplanation, error) {
	r, e, err := b.inbox.ExplainRedrive(ctx, task.ID(id))
	if err != nil {
		return nil, refusal.ToError(err)
	}
	return &deadletters.StateExplanation{RedriveUUID: &id, State: string(r.State), Summary: e.Summary, Why: e.Why,
		Next: e.Next}, nil
}
