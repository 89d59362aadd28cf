package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

func each(t *testing.T, e *engine.Engine, subs ...engine.Submission) string {
	t.Helper()
	receipts, err := e.Submit(t.Context(), subs, true)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	var order []string
	for _, r := range receipts {
		word := "known"
		if r.Created {
			word = "created"
		}
		if r.Err != nil {
			word = string(task.CodeOf(r.Err))
		}
		if counts[word]++; counts[word] == 1 {
			order = append(order, word)
		}
	}
	for i, word := range order {
		order[i] = fmt.Sprintf("%s %d", word, counts[word])
	}
	return strings.Join(order, ", ")
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s; want %s", what, got, want)
	}
}

// A refused item does not affect its neighbours.
func TestEachByItself(t *testing.T) {
	t.Parallel()
	from := func(user, priority string) engine.Submission {
		return engine.Submission{TaskType: "h", Priority: priority, Meta: task.Meta{Initiator: user}}
	}
	config := settings.Backpressure{Scope: settings.AllScope, UserBurst: 20, Soft: 100, HighOnly: -1, AllowListOnly: -1,
		AllowList: []string{"vip"}}
	e, advance := pressed(t, config)
	expect(t, "60 of ann, 20 allowed", each(t, e, many(60, from("ann", ""))...), "created 20, exhausted 40")
	mixed := append(many(5, from("ann", "")), append(many(15, from("bob", "")), many(45, from("carl", ""))...)...)
	expect(t, "ann who is over, bob who is not, carl who comes over", each(t, e, mixed...), "exhausted 30, created 35")
	p := e.Pressure()
	expect(t, "refused for their users", fmt.Sprint(p.Refused[engine.OverBurst]), "70")

	advance(2 * time.Minute)
	var filling []engine.Submission
	for i := range 50 {
		filling = append(filling, from(fmt.Sprint("user", i), ""))
	}
	expect(t, "the last places of the queue", each(t, e, filling...), "created 45, exhausted 5")
	vip := from("dora", "low")
	vip.TaskType = "vip"
	expect(t, "urgent beside usual beside listed",
		each(t, e, from("dora", "high"), from("emil", "medium"), vip, from("emil", "")), "created 2, exhausted 2")
	if _, err := e.Submit(t.Context(), []engine.Submission{from("dora", "high"), from("emil", "medium")},
		false); task.CodeOf(err) != task.Exhausted {
		t.Errorf("a batch without errors by item: %v", err)
	}
}

func TestKnownKeysAreAlwaysAnswered(t *testing.T) {
	t.Parallel()
	keyed := func(key string) engine.Submission {
		return engine.Submission{TaskType: "mail", Queued: true, IdempotencyKey: key, Meta: task.Meta{Initiator: "ann"}}
	}
	e, advance := pressed(t, settings.Backpressure{UserBurst: 5, Soft: 12, HighOnly: -1, AllowListOnly: -1})
	first := submit(t, e, keyed("a"))[0]
	for range 20 { // her quota is five
		if r := submit(t, e, keyed("a"))[0]; r.ID != first.ID || r.Created {
			t.Fatalf("the known key is answered %+v", r)
		}
	}
	expect(t, "the rest of her quota", each(t, e, keyed("b"), keyed("c"), keyed("d"), keyed("e"), keyed("f")),
		"created 4, exhausted 1")
	expect(t, "known keys beyond it", each(t, e, keyed("a"), keyed("e"), keyed("g")), "known 2, exhausted 1")
	submit(t, e, keyed("a"), keyed("b"))
	refused(t, e, task.Exhausted, keyed("a"), keyed("new"))

	for i := range 7 {
		other := mail("high")
		other.Meta.Initiator = fmt.Sprint("user", i)
		submit(t, e, other)
	}
	advance(2 * time.Minute)
	refused(t, e, task.Exhausted, keyed("new"))
	if r := submit(t, e, keyed("a"))[0]; r.ID != first.ID || r.Created {
		t.Errorf("in a full queue the known key is answered %+v", r)
	}
	other := keyed("a")
	other.Context = []byte(`1`)
	expect(t, "another body", each(t, e, other), "conflict 1")
	advance(25 * time.Hour)
	refused(t, e, task.Exhausted, keyed("a")) // the key has expired: a new task
}

func TestRefusedTellTheDepth(t *testing.T) {
	t.Parallel()
	e, advance := pressed(t, settings.Backpressure{Soft: 3, HighOnly: -1, AllowListOnly: -1})
	later := mail("high")
	later.RunAt = task.At(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	submit(t, e, mail("low"))
	submit(t, e, append(many(40, mail("high")), many(7, later)...)...)
	for _, when := range []string{"at once", "when it was counted anew"} {
		if err := refused(t, e, task.Exhausted, mail("low")); !strings.Contains(err.Message,
			"the queue is full: 41 steps are ready,") {
			t.Errorf("%s: %s", when, err.Message)
		}
		advance(time.Minute)
	}
}
