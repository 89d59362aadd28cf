package submit

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker/internal/engine/check"
	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/task"
)

// EditedUnique binds the new unique key and frees the old one; nil if the key stays. It runs before the task is
// locked, because submissions lock keys first too.
//
// It refuses a key that another task guards even if this task does not guard its key in error: a retry would run
// both. A key whose period is over stays.
func EditedUnique(u *kernel.Unit, seen *task.Task, next []byte) (*task.UniqueMark, error) {
	m := seen.Meta.Unique
	if m == nil || m.Until != 0 && m.Until <= u.Now || SameJSON(seen.Context, next) {
		return nil, nil
	}
	def, err := u.Rows.Template(seen.DefID)
	if err != nil {
		return nil, err
	}
	mark := *m
	if mark.Key, err = uniqueKeyIn(&task.Unique{By: m.By}, def, next); err != nil {
		return nil, check.Refusal("the context was not edited", []task.Problem{{Location: "/context", Message: err.Error()}})
	}
	if mark.Key == m.Key {
		return nil, nil
	}
	holder := kernel.Holder{Task: seen.ID, While: m.While, Until: m.Until}
	asks := []kernel.UniqueAsk{{Name: kernel.KeyName{Namespace: def.Namespace, Key: mark.Key}, To: holder}}
	answers, err := Of(u.E).UniqueStore.TakeUnique(u.Ctx, u.Tx, asks, u.Now)
	if err != nil {
		return nil, err
	}
	if by := answers[0].Task; !by.IsZero() && by != seen.ID {
		return nil, &task.Error{Code: task.Conflict, Message: "another task guards the unique key of the new context",
			Hint: "cancel one of the two tasks, or edit this one once the other no longer guards the key",
			Problems: []task.Problem{{Location: "/context",
				Message: fmt.Sprintf("has the unique key that the task %s guards", by)}}}
	}
	holder.Until = u.Now // it guards the old key until now
	moves := []kernel.UniqueMove{{Name: kernel.KeyName{Namespace: def.Namespace, Key: m.Key}, From: seen.ID, To: holder}}
	_, err = Of(u.E).UniqueStore.MoveUnique(u.Ctx, u.Tx, moves)
	return &mark, err
}

func uniqueKeyIn(rule *task.Unique, t *task.Template, context []byte) (string, error) {
	kind := "template"
	if t.Adhoc {
		kind = "task type"
	}
	return rule.Key([]string{kind, t.Name}, context)
}

// SameJSON ignores only white space between values.
func SameJSON(a, b []byte) bool {
	return bytes.Equal(compacted(a), compacted(b))
}

// compacted returns null without a document.
func compacted(document []byte) []byte {
	if document == nil {
		return []byte("null")
	}
	var b bytes.Buffer
	if json.Compact(&b, document) != nil {
		return document
	}
	return b.Bytes()
}
