package compare

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Value is a rate or a latency.
type Value struct {
	PerSecond float64 // 0: it is a latency
	MS        float64
	CPU       float64 // µs per task of all processes together; 0: unknown
}

func (v Value) number() float64 {
	if v.PerSecond > 0 {
		return v.PerSecond
	}
	return v.MS
}

// Report is what was measured.
type Report struct {
	Peers   []string  `json:"peers"`
	Metrics []*Metric `json:"metrics"`
}

// Metric is one measurement of every peer, in order of the peers.
type Metric struct {
	Name string  `json:"name"`
	Unit string  `json:"unit"` // tasks/s, more is better, or ms, less is better
	Peer []Stats `json:"peers"`
	// Ratio of the last peer to the first, round by round; none for one peer.
	Ratio Spread `json:"ratio,omitzero"`

	values [][]Value // by peer, by round
}

// Stats summarizes several rounds.
type Stats struct {
	Spread
	CPU float64 `json:"cpu_us_per_task,omitempty"` // median, of client and database together
}

// Spread is the middle of several numbers, and the outermost.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func newReport(peers []Peer) *Report {
	r := &Report{}
	for _, p := range peers {
		r.Peers = append(r.Peers, p.Name)
	}
	return r
}

// add forms ratios round by round, so that a slow minute of the machine affects both sides.
func (r *Report) add(name string, peer int, v Value) {
	i := slices.IndexFunc(r.Metrics, func(m *Metric) bool { return m.Name == name })
	if i < 0 {
		m := &Metric{Name: name, Unit: "ms", values: make([][]Value, len(r.Peers)), Peer: make([]Stats, len(r.Peers))}
		if v.PerSecond > 0 {
			m.Unit = "tasks/s"
		}
		i, r.Metrics = len(r.Metrics), append(r.Metrics, m)
	}
	m := r.Metrics[i]
	m.values[peer] = append(m.values[peer], v)
	m.Peer[peer] = Stats{spread(numbers(m.values[peer], Value.number)),
		spread(numbers(m.values[peer], func(v Value) float64 { return v.CPU })).Median}
	if len(m.values) < 2 {
		return
	}
	first, last := m.values[0], m.values[len(m.values)-1]
	var ratios []float64
	for round := range min(len(first), len(last)) {
		if d := first[round].number(); d > 0 {
			ratios = append(ratios, last[round].number()/d)
		}
	}
	m.Ratio = spread(ratios)
}

func numbers(values []Value, of func(Value) float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = of(v)
	}
	return out
}

// spread returns the median and the extremes, zero for no numbers.
func spread(v []float64) Spread {
	if len(v) == 0 {
		return Spread{}
	}
	v = slices.Sorted(slices.Values(v))
	middle := v[len(v)/2]
	if len(v)%2 == 0 {
		middle = (v[len(v)/2-1] + middle) / 2
	}
	return Spread{middle, v[0], v[len(v)-1]}
}

// Write writes the report as tables: rates, then latencies.
func (r *Report) Write(out io.Writer) error {
	for _, unit := range []string{"tasks/s", "ms"} {
		t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
		header := append([]string{"\n" + unit}, r.Peers...)
		if len(r.Peers) > 1 {
			header = append(header, r.Peers[len(r.Peers)-1]+" / "+r.Peers[0])
		}
		if unit == "tasks/s" {
			header = append(header, "CPU µs per task: "+strings.Join(r.Peers, ", "))
		}
		if _, err := fmt.Fprintln(t, strings.Join(header, "\t")); err != nil {
			return err
		}
		for _, m := range r.Metrics {
			if m.Unit == unit {
				if _, err := fmt.Fprintln(t, strings.Join(m.row(), "\t")); err != nil {
					return err
				}
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// row formats a metric as cells. Rates have no decimals.
func (m *Metric) row() []string {
	digits := 2
	if m.Unit == "tasks/s" {
		digits = 0
	}
	cells := []string{m.Name}
	var cpu []string
	for _, s := range m.Peer {
		cells = append(cells, s.format(digits))
		cpu = append(cpu, fmt.Sprintf("%.1f", s.CPU))
	}
	if len(m.Peer) > 1 {
		cells = append(cells, m.Ratio.format(2))
	}
	if m.Unit == "tasks/s" {
		cells = append(cells, strings.Join(cpu, ", "))
	}
	return cells
}

func (s Spread) format(digits int) string {
	return fmt.Sprintf("%.*f (%.*f to %.*f)", digits, s.Median, digits, s.Min, digits, s.Max)
}
