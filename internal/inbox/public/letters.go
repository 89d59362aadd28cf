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

// Report implements deadletters.LetterBackend. The namespace defaults to "default". Receipts are in the order of the
// reports.
func (b *Backend) Report(ctx context.Context, req deadletters.ReportRequest) ([]deadletters.Receipt, error) {
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

// Letters implements deadletters.LetterBackend. A page has 50 letters unless the filter says how many. The cursor is
// the ID of a letter: letters are listed by their IDs, which grow with time, so a page stays the same while new ones
// arrive.
func (b *Backend) Letters(ctx context.Context, f deadletters.LetterFilter) (*deadletters.LetterPage, error) {
	var r reader
	filter := inbox.LetterFilter{Selection: r.selection("", &f.Selection), Below: r.cursor(f.Cursor),
		Limit: cmp.Or(f.Limit, defaultPage)}
	r.inQuery()
	if err := r.err(); err != nil {
		return nil, err
	}
	return shown(shownLetterPage)(b.inbox.Letters(ctx, filter))
}

func shownLetterPage(page inbox.LetterPage) deadletters.LetterPage {
	out := deadletters.LetterPage{Letters: each(page.Letters, shownLetter)}
	if !page.Next.IsZero() {
		out.NextCursor = page.Next.String()
	}
	return out
}

// Letter implements deadletters.LetterBackend.
func (b *Backend) Letter(ctx context.Context, id uuid.UUID) (*deadletters.LetterStory, error) {
	return shown(shownLetterStory)(b.inbox.Letter(ctx, task.ID(id)))
}

// exportPage is the number of letters of which an export reads the list at once. Their payloads are read one by one.
const exportPage = 200

// ExportLetters implements deadletters.LetterBackend. It holds one page of IDs, and one letter whole.
//
// The limit of the filter has no effect. An error is the last element. Letters that arrive during the export are newer
// than its first page and are not part of it.
func (b *Backend) ExportLetters(ctx context.Context, f deadletters.LetterFilter,
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

// EditLetter implements deadletters.LetterBackend. Clear excludes an edit.
func (b *Backend) EditLetter(ctx context.Context, id uuid.UUID, edit deadletters.LetterEdit,
) (*deadletters.Letter, error) {
	var r reader
	change := inbox.LetterEdit{By: r.by(edit.Act), Edit: r.edit("", &edit.Edit), Clear: edit.Clear}
	empty := change.Edit.Patch == nil && change.Edit.SetHeaders == nil && change.Edit.DropHeaders == nil &&
		change.Edit.Key == nil
	if change.Clear && !empty {
		r.bad("/clear", "excludes patch, headers and key")
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return shown(shownLetter)(b.inbox.EditLetter(ctx, task.ID(id), change))
}

// DiscardLetter implements deadletters.LetterBackend.
func (b *Backend) DiscardLetter(ctx context.Context, id uuid.UUID, act deadletters.Act) (*deadletters.Letter, error) {
	by, err := actor(act)
	if err != nil {
		return nil, err
	}
	return shown(shownLetter)(b.inbox.DiscardLetter(ctx, task.ID(id), by))
}

// RestoreLetter implements deadletters.LetterBackend.
func (b *Backend) RestoreLetter(ctx context.Context, id uuid.UUID, act deadletters.Act) (*deadletters.Letter, error) {
	by, err := actor(act)
	if err != nil {
		return nil, err
	}
	return shown(shownLetter)(b.inbox.RestoreLetter(ctx, task.ID(id), by))
}
