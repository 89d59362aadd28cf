package compare

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	t.Parallel()
	r := newReport([]Peer{{Name: "a"}, {Name: "b"}})
	for round, v := range []float64{10, 30, 20} {
		r.add("insert", 0, Value{PerSecond: v, CPU: 1})
		r.add("insert", 1, Value{PerSecond: v * float64(round+1), CPU: 2})
	}
	r.add("start p50", 0, Value{MS: 4})
	r.add("start p50", 1, Value{MS: 1})
	m := r.Metrics[0]
	if m.Unit != "tasks/s" || m.Peer[0].Spread != (Spread{20, 10, 30}) || m.Peer[1].Spread != (Spread{60, 10, 60}) ||
		m.Peer[1].CPU != 2 {
		t.Errorf("%+v", m)
	}
	// Round by round: a round that was slow for both does not count.
	if m.Ratio != (Spread{2, 1, 3}) {
		t.Errorf("ratio %+v", m.Ratio)
	}
	if l := r.Metrics[1]; l.Unit != "ms" || l.Ratio.Median != 0.25 {
		t.Errorf("%+v", l)
	}
	var out strings.Builder
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"b / a", "60 (10 to 60)", "2.00 (1.00 to 3.00)", "0.25 (0.25 to 0.25)", "1.0, 2.0"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in:\n%s", want, out.String())
		}
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	if got := spread([]float64{4, 1, 3, 2}); got != (Spread{2.5, 1, 4}) {
		t.Errorf("%+v", got)
	}
	if got := spread(nil); got != (Spread{}) {
		t.Errorf("%+v", got)
	}
}
