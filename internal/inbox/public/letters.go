package public

import (
	"cmp"
	"context"
	"iter"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/task"
)

func (b *backend) Report(ctx context.Context, req deadletters.ReportRequest) ([]deadletters.Receipt, error) {
	var r reader
	reports := r.reports(&req)
	if err := r.err(); err != nil {
		return nil, err
	}
	return shownList(shownReceipt)(b.inbox.Report(ctx, cmp.Or(req.Namespace, defaultNamespace), req.Source, reports))
}

func shownReceipt(r inbox.Receipt) deadletters.Receipt {
	return deadletters.Receipt{LetterUUID: uuid.UUID(r.Letter), GroupID: shownGroupID(r.Group), Status: r.Status}
}

// A page has 50 letters unless the filter says how many. The cursor is the ID of a letter: letters are listed by their
// IDs, which grow with time, so a page stays the same while new ones arrive.
func (b *backend) Letters(ctx context.Context, f deadletters.LetterFilter) (*deadletters.LetterPage, error) {
	var r reader
	filter := inbox.LetterFilter{Selection: r.selection("", &f.Selection), Below: r.cursor(f.Cursor),
		Limit: cmp.Or(f.Limit, defaultPage)}
	r.inQuery()
	return asked(ctx, &r, b.inbox.Letters, filter, shownLetterPage)
}

func shownLetterPage(page inbox.LetterPage) deadletters.LetterPage {
	out := deadletters.LetterPage{Letters: each(page.Letters, shownLetter)}
	if !page.Next.IsZero() {
		out.NextCursor = page.Next.String()
	}
	return out
}

func (b *backend) Letter(ctx context.Context, id uuid.UUID) (*deadletters.LetterStory, error) {
	return shown(shownLetterStory)(b.inbox.Letter(ctx, task.ID(id)))
}

// exportPage is the number of letters of which an export reads the list at once. Their payloads are read one by one.
const exportPage = 200

// It holds one page of IDs, and one letter whole.
//
// The limit of the filter has no effect. An error is the last element. Letters that arrive during the export are newer
// than its first page and are not part of it.
func (b *backend) ExportLetters(ctx context.Context, f deadletters.LetterFilter,
) iter.Seq2[*deadletters.Letter, error] {
	return func(yield func(*deadletters.Letter, error) bool) {
		var r reader
		filter := inbox.LetterFilter{Selection: r.selection("", &f.Selection), Below: r.cursor(f.Cursor), Limit: exportPage}
		r.inQuery()
		if err := r.err(); err != nil {
			yield(nil, err)
			return
		}
		for {
			page, err := b.inbox.Letters(ctx, filter)
			if err != nil {
				yield(nil, shownError(err))
				return
			}
			for _, l := range page.Letters {
				story, err := b.inbox.Letter(ctx, l.ID)
				if task.CodeOf(err) == task.NotFound {
					continue // purged meanwhile
				}
				if err != nil {
					yield(nil, shownError(err))
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

// Clear excludes an edit.
func (b *backend) EditLetter(ctx context.Context, id uuid.UUID, edit deadletters.LetterEdit,
) (*deadletters.Letter, error) {
	var r reader
	change := inbox.LetterEdit{By: r.by(edit.Act), Edit: r.edit("", &edit.Edit), Clear: edit.Clear}
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
