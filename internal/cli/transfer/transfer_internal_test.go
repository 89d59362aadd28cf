package transfer

import (
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestSeedsOf(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{0, 1, 0xdeadbeef, 1<<63 + 7, ^uint64(0)} {
		source := task.NewSource(seed, 0)
		var s seeds
		if !s.allow(seed + 1) {
			t.Error("before an ID was seen any seed will do")
		}
		for range 5 {
			if !s.add(source.Take(time.UnixMilli(1_772_000_000_000), 3)) {
				t.Fatalf("no seed is left of %x", seed)
			}
		}
		if !s.allow(seed) || s.pick() != seed {
			t.Errorf("the seed %x is taken for %x", seed, s.left)
		}
		if other := task.NewSource(seed+1, 0).Take(time.UnixMilli(1_772_000_000_000), 1); s.add(other) {
			t.Errorf("an ID of another source goes with the seed %x", seed)
		}
	}
	var s seeds
	if s.add(task.ID{1, 2, 3}) {
		t.Error("what is no UUID of version 7 has a seed")
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	of := func(rows ...row) *digest {
		d := &digest{}
		for _, r := range rows {
			d.add(r)
		}
		return d
	}
	a, b := row{{text: "a"}, {text: "b"}}, row{{text: "c"}, {null: true}}
	if !of(a, b).same(of(b, a)) {
		t.Error("the order of rows matters")
	}
	for name, other := range map[string]*digest{
		"Shifted": of(row{{text: "ab"}, {}}, b), "Null": of(a, row{{text: "c"}, {}}), "Missing": of(a), "Twice": of(a, b, b),
		"Swapped": of(row{{text: "b"}, {text: "a"}}, b),
	} {
		if of(a, b).same(other) {
			t.Errorf("%s: the checksum is the same", name)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	one := func(name string, k kind) table { return table{name: name, columns: []column{{"id", k}}, key: []int{0}} }
	got, err := match([]table{one("tasker_tasks", integers), one("tasker_workflow_steps", integers),
		one("tasker_z", texts)},
		[]table{one("tasker_z", documents), one("tasker_tasks", ids), one("tasker_workflow_steps", ids)})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0].columns[0].kind != documents || got[1].name != "tasker_workflow_steps" ||
		got[2].columns[0].kind != ids {
		t.Errorf("matched as %+v", got)
	}
	for name, to := range map[string][]table{
		"MissingThere": {}, "MissingHere": {one("tasker_a", texts), one("tasker_b", texts)},
		"OtherKind":    {one("tasker_a", ids)},
		"OtherColumns": {{name: "tasker_a", columns: []column{{"id", texts}, {"more", texts}}, key: []int{0}}},
		"OtherKey":     {{name: "tasker_a", columns: []column{{"id", texts}}}},
	} {
		if _, err := match([]table{one("tasker_a", texts)}, to); task.CodeOf(err) != task.Conflict {
			t.Errorf("%s: matched with %v", name, err)
		}
	}
}
