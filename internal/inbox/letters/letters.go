// Package letters shows letters one by one, and changes them: discarded, restored, edited. Rooms that change many
// letters count them through this one.
package letters

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox/desk"
	"github.com/taskerhq/tasker/internal/inbox/sources"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

const shownOccurrences = 100

// Keeper keeps letters.
type Keeper struct {
	*desk.Desk
	store   Store
	sources *sources.Registry
}

// New returns a Keeper.
func New(d *desk.Desk, store Store, sources *sources.Registry) *Keeper {
	return &Keeper{d, store, sources}
}

// Letters returns a page, the newest first. A page may be empty and still have a next one, as a search looks at a
// bounded number of rows.
func (in *Keeper) Letters(ctx context.Context, f LetterFilter) (LetterPage, error) {
	err := in.Page(ctx, f.Limit, &f.Namespace)
	if err != nil {
		return LetterPage{}, err
	}
	f.Masked = desk.Masked(ctx)
	if problems := f.Selection.Validate(); len(problems) > 0 {
		return LetterPage{}, &task.Error{Code: task.Invalid, Message: "the filter is not valid", Problems: problems}
	}
	// A merged group has no page: the group that shows it has its letters.
	if f.Groups, err = in.WithMerged(ctx, f.Groups); err != nil {
		return LetterPage{}, err
	}
	return in.store.ListLetters(ctx, f)
}

func (in *Keeper) letter(ctx context.Context, id task.ID) (*deadletter.Letter, error) {
	l, err := in.store.FindLetter(ctx, id)
	if err == nil && (l == nil || !desk.Reaches(ctx, l.Namespace)) {
		return nil, noLetter(id)
	}
	return l, err
}

// Letter returns a letter whole, with its latest 100 occurrences and its group.
func (in *Keeper) Letter(ctx context.Context, id task.ID) (*LetterStory, error) {
	l, err := in.letter(ctx, id)
	if err != nil {
		return nil, err
	}
	story := &LetterStory{Letter: l}
	if story.Occurrences, err = in.store.Occurrences(ctx, id, shownOccurrences); err != nil {
		return nil, err
	}
	story.Group, err = in.store.FindGroup(ctx, l.Group)
	return story, err
}

// DiscardLetter discards a letter until it is restored or purged. WrongState: it is being sent back, or was discarded
// before.
func (in *Keeper) DiscardLetter(ctx context.Context, id task.ID, by desk.By) (*deadletter.Letter, error) {
	if by.Reason == "" {
		return nil, desk.Invalid("the letter was not discarded", "/reason", "say why; the reason is kept with the letter")
	}
	return in.change(ctx, id, by, "discard_letter", func(l *deadletter.Letter, by desk.By) error {
		return l.Discard(by.Reason, in.Now(), deadletter.Retention)
	})
}

// RestoreLetter opens a discarded letter. WrongState for any other.
func (in *Keeper) RestoreLetter(ctx context.Context, id task.ID, by desk.By) (*deadletter.Letter, error) {
	return in.change(ctx, id, by, "restore_letter", func(l *deadletter.Letter, _ desk.By) error {
		return l.Restore(in.Now())
	})
}

// EditLetter changes the content that is sent instead of a letter's original, which is kept. TooLarge: the result.
// WrongState: the letter is neither open nor scheduled, or its payload was cut.
func (in *Keeper) EditLetter(ctx context.Context, id task.ID, edit LetterEdit) (*deadletter.Letter, error) {
	return in.change(ctx, id, edit.By, "edit_letter", func(l *deadletter.Letter, _ desk.By) error {
		if edit.Clear {
			return l.Edit(nil)
		}
		if l.Cut {
			return task.Errorf(task.WrongState, "the letter was not edited: %s", deadletter.WhyCut)
		}
		if problems := edit.Edit.Validate(); len(problems) > 0 {
			return &task.Error{Code: task.Invalid, Message: "the letter was not edited", Problems: problems}
		}
		content, err := in.Edited(l, &edit.Edit)
		if err != nil {
			return err
		}
		return l.Edit(&content)
	})
}

// Edited returns the content of a letter after an edit.
func (in *Keeper) Edited(l *deadletter.Letter, edit *deadletter.Edit) (deadletter.Content, error) {
	content, err := edit.Apply(l.Outgoing())
	if fault := in.SizeFault(content.Size()); err == nil && fault != "" {
		err = task.Errorf(task.TooLarge, "the edited message %s", fault)
	}
	return content, err
}

// change changes a locked letter and stores it with the act and the counts of its group, in one transaction.
func (in *Keeper) change(ctx context.Context, id task.ID, by desk.By, kind string,
	fn func(*deadletter.Letter, desk.By) error,
) (*deadletter.Letter, error) {
	return desk.Acting(ctx, in.Desk, by, func(ctx context.Context, tx engine.Tx, by desk.By) (*deadletter.Letter, error) {
		letters, err := in.store.Letters(ctx, tx, []task.ID{id})
		if err != nil {
			return nil, err
		}
		if len(letters) == 0 || !desk.Reaches(ctx, letters[0].Namespace) {
			return nil, noLetter(id)
		}
		l := letters[0]
		if err := by.Expected("the letter", l.Version); err != nil {
			return nil, err
		}
		was, before := l.State, recordOfContent(l)
		if err := fn(l, by); err != nil {
			return nil, err
		}
		a := desk.Act{Kind: kind, By: by, Namespace: l.Namespace, Of: id.String(), From: string(was), To: string(l.State)}
		if after := recordOfContent(l); after != before {
			a.Before, a.After = before, after
		}
		news, changed := desk.LetterNews{}, Changed{}
		if changed.add(l, was); was != model.LetterDiscarded {
			news.Discarded(l)
		}
		return l, errors.Join(in.store.SaveLetters(ctx, tx, letters), in.store.AddDeltas(ctx, tx, changed.tally.Deltas()),
			in.Act(ctx, tx, a), in.Tell(ctx, tx, news.Events(in.Now())...))
	})
}

// ExplainLetter returns a letter and explains its state, its history and its possible changes in sentences.
func (in *Keeper) ExplainLetter(ctx context.Context, id task.ID) (*deadletter.Letter, deadletter.Explanation, error) {
	l, err := in.letter(ctx, id)
	if err != nil {
		return nil, deadletter.Explanation{}, err
	}
	s, err := in.store.FindSource(ctx, l.Namespace, l.Source)
	if err != nil || s == nil {
		return l, deadletter.ExplainLetter(l, nil, nil), err
	}
	policies, err := in.sources.PoliciesOf(ctx, l.Namespace)
	return l, deadletter.ExplainLetter(l, s, policies.Of(l)), err
}

// LetterStory is a letter with its history.
type LetterStory struct {
	Letter      *deadletter.Letter
	Occurrences []deadletter.Occurrence
	Group       *deadletter.Group
}

// LetterEdit changes what is sent instead of a letter's original.
type LetterEdit struct {
	desk.By
	Edit  deadletter.Edit
	Clear bool
}

// LetterFilter selects a page of letters.
type LetterFilter struct {
	deadletter.Selection
	Below task.ID // exclusive; zero starts at the newest
	Limit int
}

// LetterPage is a page of letters.
type LetterPage struct {
	Letters []*deadletter.Letter
	// Next starts the next page; zero at the end. A page may be short or empty and still have a next one: a search in
	// texts reads a bounded number of letters.
	Next task.ID
}

// SmallPayload bounds a payload in a list, in bytes.
const SmallPayload = 1024

func noLetter(id task.ID) error { return task.Errorf(task.NotFound, "there is no letter %s", id) }

type contentRecord struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
	Rest   string `json:"rest"`
}

func recordOfContent(l *deadletter.Letter) contentRecord {
	content := l.Outgoing()
	sum, rest := sha256.Sum256(content.Payload), sha256.New()
	fmt.Fprintf(rest, "%q", content.Key)
	for _, h := range content.Headers {
		fmt.Fprintf(rest, "%q%q", h.Name, h.Value)
	}
	return contentRecord{len(content.Payload), hex.EncodeToString(sum[:]), hex.EncodeToString(rest.Sum(nil))}
}

// WithMerged adds to groups those that are merged into them.
func (in *Keeper) WithMerged(ctx context.Context, ids []deadletter.GroupID) ([]deadletter.GroupID, error) {
	all := slices.Clone(ids)
	for _, id := range ids {
		merged, err := in.store.MergedGroups(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, m := range merged {
			if !slices.Contains(all, m.ID) {
				all = append(all, m.ID)
			}
		}
	}
	return all, nil
}

// Store is the storage of this room; inbox.Store says what holds for all of its methods.
type Store interface {
	// Letters returns letters whole, locked, by ID.
	Letters(ctx context.Context, tx engine.Tx, ids []task.ID) ([]*deadletter.Letter, error)
	// SaveLetters stores the changeable fields except the stack: AddOccurrences stores the latest.
	SaveLetters(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error
	// SaveStates stores the columns of a change of state: state, reason, times, redrive, replays, failed sends, parked,
	// unknown and version.
	SaveStates(ctx context.Context, tx engine.Tx, letters []*deadletter.Letter) error
	// FindLetter and WholeLetters return letters whole, by ID.
	FindLetter(ctx context.Context, id task.ID) (*deadletter.Letter, error)
	Occurrences(ctx context.Context, id task.ID, limit int) ([]deadletter.Occurrence, error)
	// ListLetters returns a page, the newest first, without payloads above SmallPayload, headers and stacks.
	ListLetters(ctx context.Context, f LetterFilter) (LetterPage, error)

	// Of other rooms.

	AddDeltas(ctx context.Context, tx engine.Tx, deltas []deadletter.Delta) error
	FindGroup(ctx context.Context, id deadletter.GroupID) (*deadletter.Group, error)
	FindSource(ctx context.Context, namespace, name string) (*deadletter.Source, error)
	MergedGroups(ctx context.Context, into deadletter.GroupID) ([]*deadletter.Group, error)
}
