package deadletter_test

import (
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

func TestPolicyFor(t *testing.T) {
	t.Parallel()
	all, source := &deadletter.Policy{}, &deadletter.Policy{Source: "s"}
	origin, both := &deadletter.Policy{Origin: "o"}, &deadletter.Policy{Source: "s", Origin: "o"}
	others := []*deadletter.Policy{{Source: "x"}, {Origin: "x"}, {Source: "x", Origin: "o"}, {Source: "s", Origin: "x"}}
	for _, c := range []struct {
		list []*deadletter.Policy
		want *deadletter.Policy
	}{
		{nil, nil}, {[]*deadletter.Policy{all}, all}, {[]*deadletter.Policy{all, source}, source},
		{[]*deadletter.Policy{source, origin, all}, origin}, {[]*deadletter.Policy{origin, both, source, all}, both},
	} {
		if got := deadletter.PolicyFor(append(c.list, others...), "s", "o"); got != c.want {
			t.Errorf("of %+v: %+v", c.list, got)
		}
	}
}

func TestPoliciesOf(t *testing.T) {
	t.Parallel()
	all, source := &deadletter.Policy{}, &deadletter.Policy{Source: "s"}
	a, b := &deadletter.Policy{Origin: "a"}, &deadletter.Policy{Source: "s", Origin: "b"}
	other, hidden := &deadletter.Policy{Source: "x", Origin: "c"}, &deadletter.Policy{Origin: "b"}
	got := deadletter.PoliciesOf([]*deadletter.Policy{all, b, hidden, source, other, a}, "s")
	if !slices.Equal(got, []*deadletter.Policy{a, b, source}) {
		t.Errorf("of s: %+v", got)
	}
	if got := deadletter.PoliciesOf([]*deadletter.Policy{all, b, hidden}, "y"); !slices.Equal(got,
		[]*deadletter.Policy{hidden, all}) {
		t.Errorf("of y: %+v", got)
	}
	if got := deadletter.PoliciesOf([]*deadletter.Policy{b, other}, "y"); len(got) != 0 {
		t.Errorf("without one: %+v", got)
	}
}

func TestParks(t *testing.T) {
	t.Parallel()
	ten := &deadletter.Policy{Strategy: model.Fixed, MaxRetries: 10}
	for _, c := range []struct {
		p             *deadletter.Policy
		replays, want int
	}{
		{nil, 3, 3}, {ten, 3, 10}, {ten, 20, 20}, {ten, 0, 0},
		{&deadletter.Policy{Strategy: model.Manual, MaxRetries: 10}, 3, 3},
		{&deadletter.Policy{Strategy: model.Immediate, MaxRetries: 1}, 3, 3},
	} {
		if got := c.p.Parks(c.replays); got != c.want {
			t.Errorf("%+v with %d: %d", c.p, c.replays, got)
		}
	}
}

func TestKindOfDiscard(t *testing.T) {
	t.Parallel()
	p := deadletter.Policy{Strategy: model.Fixed, MaxRetries: 2, Base: time.Second, MaxAge: time.Hour,
		DiscardTests: true}
	for want, change := range map[deadletter.DiscardKind]func(*deadletter.Letter){
		deadletter.DiscardMaxRetries: func(l *deadletter.Letter) { l.Replays = 2 },
		deadletter.DiscardMaxAge:     func(l *deadletter.Letter) { l.FirstAt = now.Add(-2 * time.Hour) },
		deadletter.DiscardTestEvent:  func(l *deadletter.Letter) { l.MessageID = "test-7" },
	} {
		l := letterIn(model.LetterOpen)
		change(l)
		d := p.Decide(l, now, 0)
		if got := deadletter.KindOfDiscard(deadletter.ReasonPrefix + d.Reason); got != want || d.Verdict !=
			deadletter.VerdictDiscard {
			t.Errorf("%+v is %s, want %s", d, got, want)
		}
	}
	for _, reason := range []string{"", "manual: it died more than a day ago", "policy: something", "it was sent back"} {
		if got := deadletter.KindOfDiscard(reason); got != deadletter.DiscardManual {
			t.Errorf("%q is %s", reason, got)
		}
	}
}
