package inbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/letters"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/internal/store/postgres"
	"github.com/taskerhq/tasker/internal/store/sqlite"
	"github.com/taskerhq/tasker/internal/testkit/postgrestest"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
)

// rowsRead reports reads of letters before a mark, outside of its transaction.
type rowsRead struct {
	inbox.Store
	after func()
}

func (s *rowsRead) LettersToSend(ctx context.Context, tx engine.Tx, ids []task.ID, size int) ([]*deadletter.Letter,
	[]task.ID, error,
) {
	letters, left, err := s.Store.LettersToSend(ctx, tx, ids, size)
	if after := s.after; tx == nil && after != nil {
		s.after = nil
		after()
	}
	return letters, left, err
}

type sqliteRead struct {
	*sqlite.Store
	rows *rowsRead
}

func (d sqliteRead) Inbox() inbox.Store { return d.rows }

type postgresRead struct {
	*postgres.Store
	rows *rowsRead
}

func (d postgresRead) Inbox() inbox.Store { return d.rows }

// A letter changes between the read and the mark of its batch: the mark uses its new state and sends the others.
func TestChangedBeforeTheMark(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]func(t *testing.T, r *rig, rows *rowsRead){
		"Discarded": discardedBeforeTheMark, "Edited": editedBeforeTheMark, "Moved": movedBeforeTheMark,
	} {
		t.Run(name+"/SQLite", func(t *testing.T) {
			t.Parallel()
			s, err := sqlite.Open(t.Context(), sqlitetest.File(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			rows := &rowsRead{Store: s.Inbox()}
			script(t, newRig(t, sqliteRead{s, rows}), rows)
		})
		t.Run(name+"/PostgreSQL", func(t *testing.T) {
			t.Parallel()
			s, err := postgres.Open(t.Context(), postgrestest.DSN(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			rows := &rowsRead{Store: s.Inbox()}
			script(t, newRig(t, postgresRead{s, rows}), rows)
		})
	}
}

func discardedBeforeTheMark(t *testing.T, r *rig, rows *rowsRead) {
	of := r.die(dead(1, "Timeout"), dead(2, "Timeout"))
	made := r.begin(deadletter.Plan{}, nil)
	rows.after = func() {
		if _, err := r.DiscardLetter(t.Context(), of[0].Letter, inbox.By{Reason: "wrong"}); err != nil {
			t.Error(err)
		}
	}
	r.advance()
	counts := r.found(made.ID).Counts
	r.want("sent, skipped", []int{counts.Sent, counts.Skipped, len(r.broker.sent)}, []int{1, 1, 1})
	r.stands(of[0].Letter, model.LetterDiscarded, "wrong")
}

func editedBeforeTheMark(t *testing.T, r *rig, rows *rowsRead) {
	of := r.die(dead(1, "Timeout"))
	r.begin(deadletter.Plan{}, nil)
	rows.after = func() {
		edit := letters.LetterEdit{Edit: deadletter.Edit{Patch: []byte(`{"edited":true}`)}}
		if _, err := r.EditLetter(t.Context(), of[0].Letter, edit); err != nil {
			t.Error(err)
		}
	}
	r.advance()
	got := string(r.broker.got[of[0].Letter.String()])
	r.want(got, strings.Contains(got, `"edited":true`), true)
}

// A mark takes an open letter from the count of its group.
func movedBeforeTheMark(_ *testing.T, r *rig, rows *rowsRead) {
	from := r.die(dead(1, "Timeout"), dead(2, "Timeout"), dead(3, "Timeout"))[0].Group
	r.pass(time.Second)
	r.broker.fails = func(seam.Outgoing) error { return errors.New("refused") }
	rows.after = func() { r.splitByOrigin(from) }
	r.begin(deadletter.Plan{}, nil)
	r.wantMoved()
}
