package storetest

import (
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/engine/feed"
	"github.com/taskerhq/tasker/internal/model/task"
)

func statusCases() []testCase {
	return []testCase{{"TaskStatuses", taskStatuses}}
}

func taskStatuses(f *fixture) {
	plain, rich := f.build(f.single, 0), full(f)
	f.insert(plain, rich)
	unknown := f.store.IDs().Take(f.now.Time(), 1)
	forged := task.MakeID(plain.task.ID.Seq(), plain.task.ID.Low()^1)
	want := func(t *task.Task) feed.TaskStatus {
		return feed.TaskStatus{ID: t.ID, DefID: t.DefID, State: t.State, StateAt: t.StateAt, Priority: t.Priority,
			CorrelationID: t.CorrelationID, Tags: t.Meta.Tags}
	}
	got, err := f.store.TaskStatuses(f.Context(), []task.ID{rich.task.ID, unknown, plain.task.ID, forged})
	f.must(err)
	slices.SortFunc(got, func(a, b feed.TaskStatus) int { return strings.Compare(a.CorrelationID, b.CorrelationID) })
	f.equal("statuses", got, []feed.TaskStatus{want(plain.task), want(rich.task)})
	got, err = f.store.TaskStatuses(f.Context(), nil)
	f.must(err)
	f.equal("of nothing", len(got), 0)
}
