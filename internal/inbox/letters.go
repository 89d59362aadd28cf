package inbox

import (
	"context"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/deadletter"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/task"
)

// shownOccurrences bounds the occurrences of a LetterStory.
const shownOccurrences = 100

// Letters returns a page, the newest first. A page may be empty and still have a next one, since a search looks through
// a bounded number of rows. Invalid when the limit, the cursor or the filter breaks a rule.
func (in *Inbox) Letters(ctx context.Context, f LetterFilter) (LetterPage, error) {
	err := in.page(ctx, f.Limit, &f.Namespace)
	if err != nil {
		return LetterPage{}, err
	}
	f.Masked = masked(ctx)
	if problems := f.Selection.Validate(); len(problems) > 0 {
		return LetterPage{}, &task.Error{Code: task.Invalid, Message: "the filter is not valid", Problems: problems}
	}
	// A merged group has no page of its own: its letters are those of the group that shows it.
	if f.Groups, err = in.withMerged(ctx, f.Groups); err != nil {
		return LetterPage{}, err
	}
	return in.store.ListLetters(ctx, f)
}

// Letter returns a letter whole, with its latest 100 occurrences and its group, or NotFound.
func (in *Inbox) Letter(ctx context.Context, id task.ID) (*LetterStory, error) {
	l, err := in.store.FindLetter(ctx, id)
	if err != nil {
		return nil, err
	}
	if l == nil || !reaches(ctx, l.Namespace) {
		return nil, noLetter(id)
	}
	story := &LetterStory{Letter: l}
	if story.Occurrences, err = in.store.Occurrences(ctx, id, shownOccurrences); err != nil {
		return nil, err
	}
	story.Group, err = in.store.FindGroup(ctx, l.Group)
	return story, err
}

// DiscardLetter gives a letter up, for a reason; it can be restored until it is purged. WrongState when it is being
// sent back or was discarded before.
func (in *Inbox) DiscardLetter(ctx context.Context, id task.ID, by By) (*deadletter.Letter, error) {
	if by.Reason == "" {
		return nil, &task.Error{Code: task.Invalid, Message: "the letter was not discarded",
			Problems: []task.Problem{{Location: "/reason", Message: "say why; the reason is kept with the letter"}}}
	}
	return in.change(ctx, id, by, "discard_letter", func(l *deadletter.Letter, by By) error {
		return l.Discard(by.Reason, in.now(), deadletter.Retention)
	})
}

// RestoreLetter opens a letter that was discarded. WrongState for any other; NotFound once it is purged.
func (in *Inbox) RestoreLetter(ctx context.Context, id task.ID, by By) (*deadletter.Letter, error) {
	return in.change(ctx, id, by, "restore_letter", func(l *deadletter.Letter, _ By) error {
		return l.Restore(in.now())
	})
}

// EditLetter changes what is sent in place of a letter's original, which is kept. It applies the edit to what would be
// sent now. Invalid for an edit that is malformed or does not apply, TooLarge for its result, WrongState for a letter
// that is neither open nor scheduled, or whose payload was cut.
func (in *Inbox) EditLetter(ctx context.Context, id task.ID, edit LetterEdit) (*deadletter.Letter, error) {
	return in.change(ctx, id, edit.By, "edit_letter", func(l *deadletter.Letter, _ By) error {
		if edit.Clear {
			return l.Edit(nil)
		}
		if l.Cut {
			return task.Errorf(task.WrongState, "the letter was not edited: %s", deadletter.WhyCut)
		}
		if problems := edit.Edit.Validate(); len(problems) > 0 {
			return &task.Error{Code: task.Invalid, Message: "the letter was not edited", Problems: problems}
		}
		content, err := in.edited(l, &edit.Edit)
		if err != nil {
			return err
		}
		return l.Edit(&content)
	})
}

// edited returns what would be sent of a letter after an edit, or TooLarge.
func (in *Inbox) edited(l *deadletter.Letter, edit *deadletter.Edit) (deadletter.Content, error) {
	content, err := edit.Apply(l.Outgoing())
	if fault := in.sizeFault(content.Size()); err == nil && fault != "" {
		err = task.Errorf(task.TooLarge, "the edited message %s", fault)
	}
	return content, err
}

// change loads a letter, locked, changes it with fn, and stores it with the act and the change of its group's counts,
// in one transaction. Conflict when the caller has read another version.
func (in *Inbox) change(ctx context.Context, id task.ID, by By, kind string,
	fn func(*deadletter.Letter, By) error,
) (*deadletter.Letter, error) {
	return acting(ctx, in, by, func(ctx context.Context, tx engine.Tx, by By) (*deadletter.Letter, error) {
		letters, err := in.store.Letters(ctx, tx, []task.ID{id})
		if err != nil {
			return nil, err
		}
		if len(letters) == 0 || !reaches(ctx, letters[0].Namespace) {
			return nil, noLetter(id)
		}
		l := letters[0]
		if err := by.expected("the letter", l.Version); err != nil {
			return nil, err
		}
		was := l.State
		before := recordOfContent(l)
		if err := fn(l, by); err != nil {
			return nil, err
		}
		if err := in.store.SaveLetters(ctx, tx, letters); err != nil {
			return nil, err
		}
		if err := in.counted(ctx, tx, l, was); err != nil {
			return nil, err
		}
		a := act{kind: kind, by: by, namespace: l.Namespace, of: id.String(), from: string(was),
			to: string(l.State)}
		if after := recordOfContent(l); after != before {
			a.before, a.after = before, after
		}
		if err := in.act(ctx, tx, a); err != nil {
			return nil, err
		}
		news := letterNews{}
		if was != model.LetterDiscarded {
			news.discarded(l)
		}
		return l, in.tell(ctx, tx, news.events(in.now())...)
	})
}

// changedLetters are letters whose states change in one transaction, and what that changes.
type changedLetters struct {
	list  []*deadletter.Letter
	tally deadletter.Tally
}

// add notes a letter that has changed.
func (c *changedLetters) add(l *deadletter.Letter, was model.LetterState) {
	c.list = append(c.list, l)
	c.tally.Of(l.Group).OpenLetters += opened(l.State) - opened(was)
}

// save stores the states of the letters, and the counts of their groups.
func (c *changedLetters) save(ctx context.Context, tx engine.Tx, in *Inbox) error {
	if err := in.store.SaveStates(ctx, tx, c.list); err != nil {
		return err
	}
	return in.store.AddDeltas(ctx, tx, c.tally.Deltas())
}

// counted stores the effect of a letter's new state on the open letters of its group, as a delta: a group's own row
// would be locked by everybody who touches one of its letters.
func (in *Inbox) counted(ctx context.Context, tx engine.Tx, l *deadletter.Letter, was model.LetterState) error {
	d := opened(l.State) - opened(was)
	if d == 0 {
		return nil
	}
	return in.store.AddDeltas(ctx, tx, []deadletter.Delta{{Group: l.Group, OpenLetters: d}})
}

// opened is 1 for a letter that counts as open, and 0 for others. The difference of two states is the delta of a
// change.
func opened(s model.LetterState) int64 {
	if s == model.LetterOpen || s == model.LetterScheduled {
		return 1
	}
	return 0
}
