package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func pauseCases() []testCase {
	return []testCase{
		{"StoredByTarget", pauseStored},
		{"DroppedOnceEnded", pausesDropped},
	}
}

func (f *fixture) pause(p task.Pause) task.Pause {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) error { return f.store.PauseStore().SavePause(ctx, tx, &p) })
	return p
}

// pauses returns all pauses, in an order that no collation changes.
func (f *fixture) pauses(limit int) []task.Pause {
	f.Helper()
	list, err := f.store.PauseStore().Pauses(f.Context(), limit)
	f.must(err)
	slices.SortFunc(list, func(a, b task.Pause) int {
		return cmp.Or(cmp.Compare(a.EndedAt, b.EndedAt), a.Compare(b.PauseTarget))
	})
	return list
}

func shop(kind task.PauseKind, name, capabilities string) task.PauseTarget {
	return task.PauseTarget{Kind: kind, Namespace: "shop", Name: name, Capabilities: capabilities}
}

func pauseStored(f *fixture) {
	long := strings.Repeat("c", 250)
	all := []task.Pause{
		{PauseTarget: shop(task.PauseHandler, "charge", ""), Actor: "ann", Reason: "ä \u2028 \"'\n", At: f.now},
		{PauseTarget: shop(task.PauseNamespace, "", ""), Actor: "bob", At: f.now, Until: f.now + 5},
		{PauseTarget: shop(task.PauseRoute, "charge", ""), Actor: "bob", At: f.now},
		{PauseTarget: shop(task.PauseRoute, "charge", "gpu\n"+long), Actor: "bob", At: f.now},
		{PauseTarget: shop(task.PauseTemplate, "charge", ""), Actor: "bob", At: f.now},
	}
	for _, p := range all {
		f.pause(p)
	}
	f.equal("all", f.pauses(10), all)
	f.equal("bounded", len(f.pauses(2)), 2)
	changed := all[0]
	changed.EndedAt, changed.EndedBy, changed.EndReason, changed.Reason = f.now+1, "eve", "fixed", "other"
	f.pause(changed)
	f.equal("changed", f.pauses(10), append(slices.Clone(all[1:]), changed))
	first, err := f.store.PauseStore().Pauses(f.Context(), 4)
	f.must(err)
	if slices.ContainsFunc(first, func(p task.Pause) bool { return p.EndedAt != 0 }) {
		f.Error("a pause that has ended comes before one in force")
	}
	f.write(func(ctx context.Context, tx engine.Tx) error {
		got, err := f.store.PauseStore().FindPause(ctx, tx, changed.PauseTarget)
		f.must(err)
		f.equal("found", got, &changed)
		got, err = f.store.PauseStore().FindPause(ctx, tx, shop(task.PauseRoute, "charge", "gp"))
		f.equal("unknown", got, (*task.Pause)(nil))
		f.must(err)
		all, of, err := f.store.PauseStore().CountPauses(ctx, tx, "shop")
		f.equal("in force", [2]int{all, of}, [2]int{4, 4})
		f.must(err)
		all, of, err = f.store.PauseStore().CountPauses(ctx, tx, "other")
		f.equal("in force elsewhere", [2]int{all, of}, [2]int{4, 0})
		return err
	})
}

func pausesDropped(f *fixture) {
	for i := range task.Instant(4) {
		f.pause(task.Pause{PauseTarget: shop(task.PauseHandler, fmt.Sprint("h", i), ""), Actor: "ann", At: 1, EndedAt: i})
	}
	dropped := func(before task.Instant, limit int) (n int) {
		f.write(func(ctx context.Context, tx engine.Tx) (err error) {
			n, err = f.store.PauseStore().DropPauses(ctx, tx, before, limit)
			return err
		})
		return n
	}
	f.equal("bounded", dropped(3, 1), 1)
	f.equal("rest", dropped(3, 9), 1)
	first, err := f.store.PauseStore().Pauses(f.Context(), 2)
	if err != nil || first[0].Name != "h0" || first[1].Name != "h3" {
		f.Errorf("the first are %v, %v; want the one in force and the one that ended last", first, err)
	}
	left := f.pauses(9)
	if len(left) != 2 || left[0].Name != "h0" || left[1].Name != "h3" {
		f.Errorf("left are %v", left)
	}
}
