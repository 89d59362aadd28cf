package redisqueue

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// Metrics shows this package's state in a process to a monitoring system. It needs no library of metrics: Collect
// returns names, labels and values for the application's own, and ServeHTTP answers in the text format of Prometheus.
// Set the fields before the first call; it is safe for concurrent use then.
type Metrics struct {
	// Queues, Letters and Consumers are shown once each, with up to eleven series; two consumers of one queue are added
	// up. Breakers of different DeadLetters need different names.
	Queues    []*Queue
	Letters   []*DeadLetters
	Consumers []*Consumer
	// Timeout bounds the calls of Redis. Defaults to 1s.
	Timeout time.Duration
}

// Metric is one value, in the terms of Prometheus.
type Metric struct {
	Name    string  `json:"name"`
	Help    string  `json:"help"`
	Counter bool    `json:"counter"` // otherwise it is a gauge
	Labels  []Label `json:"labels"`
	Value   float64 `json:"value"`
}

// Label is a label of a Metric.
type Label struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Collect returns the present values, grouped by name. It asks Redis for the depths of queues and blocks for at most
// Timeout. A queue for which Redis does not answer has no depth, and redisqueue_up is 0; all other values are of this
// process and always present.
func (m *Metrics) Collect(ctx context.Context) []Metric {
	var g gathered
	for _, q := range m.Queues {
		g.queue(q)
	}
	breakers := map[*Breaker]bool{}
	for _, d := range m.Letters {
		g.letters(d)
		if !breakers[d.breaker] { // several may share one
			g.breaker(d.breaker)
			breakers[d.breaker] = true
		}
	}
	for _, c := range m.Consumers {
		g.consumer(c)
	}
	m.depths(ctx, &g)
	// A scraper needs the values of one name together.
	slices.SortStableFunc(g, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	return g.merged()
}

func (g gathered) merged() []Metric {
	out := make([]Metric, 0, len(g))
	for _, v := range g {
		same := func(o Metric) bool { return o.Name == v.Name && slices.Equal(o.Labels, v.Labels) }
		if i := slices.IndexFunc(out, same); i >= 0 {
			out[i].Value += v.Value
		} else {
			out = append(out, v)
		}
	}
	return out
}

// depths adds the depths of the queues, once for a producer and consumers of one queue.
func (m *Metrics) depths(ctx context.Context, g *gathered) {
	timeout := m.Timeout
	if timeout <= 0 {
		timeout = time.Second
	}
	clients := map[string]rueidis.Client{}
	for _, q := range m.Queues {
		clients[q.o.Name] = q.o.Client
	}
	for _, c := range m.Consumers {
		clients[c.o.Queue] = c.o.Client
	}
	// Concurrently: while Redis is away, each takes as long as it may.
	var mu sync.Mutex
	var asked sync.WaitGroup
	for name, client := range clients {
		asked.Go(func() {
			d, err := depthsOf(ctx, client, name, timeout)
			mu.Lock()
			defer mu.Unlock()
			g.depthsOf(name, d, err)
		})
	}
	asked.Wait()
}

// ServeHTTP answers in the text format of Prometheus.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	var b strings.Builder
	last := ""
	for _, v := range m.Collect(r.Context()) {
		if v.Name != last {
			kind := " gauge\n"
			if v.Counter {
				kind = " counter\n"
			}
			b.WriteString("# HELP " + v.Name + " " + v.Help + "\n# TYPE " + v.Name + kind)
			last = v.Name
		}
		b.WriteString(v.Name)
		for i, l := range v.Labels {
			text := escape.Replace(strings.ToValidUTF8(l.Value, "?"))
			b.WriteString([]string{"{", ","}[min(i, 1)] + l.Name + `="` + text + `"`)
		}
		if len(v.Labels) > 0 {
			b.WriteByte('}')
		}
		b.WriteString(" " + strconv.FormatFloat(v.Value, 'g', -1, 64) + "\n")
	}
	_, _ = w.Write([]byte(b.String())) // a scraper that is gone needs no answer
}

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// gathered collects values. Names that begin with hsi_ are other programs' names of the same values.
type gathered []Metric

func (g *gathered) gauge(name, help string, value int64, labels ...Label) {
	*g = append(*g, Metric{name, help, false, labels, float64(value)})
}

func (g *gathered) counter(name, help string, value int64, labels ...Label) {
	*g = append(*g, Metric{name, help, true, labels, float64(value)})
}

func (g *gathered) depthsOf(queue string, d depths, err error) {
	const up = "1 if Redis answers for a queue, else 0."
	of := Label{"queue", queue}
	if err != nil {
		g.gauge("redisqueue_up", up, 0, of)
		return
	}
	g.gauge("redisqueue_up", up, 1, of)
	g.gauge("redisqueue_queue_depth", "Jobs that wait in a queue.", d.queue, of)
	g.dlqDepth(DLQName(queue), d.letters)
	g.dlqDepth(DLQOverflowName(queue), d.overflow)
}

func (g *gathered) dlqDepth(list string, n int64) {
	g.gauge("hsi_dlq_depth", "Jobs in a list of dead letters.", n, Label{"queue", strings.TrimPrefix(list, DLQPrefix)},
		Label{"queue_name", list})
}

func (g *gathered) queue(q *Queue) {
	s, of := q.Stats(), Label{"queue_name", q.o.Name}
	g.gauge("redisqueue_queue_limit", "Jobs that may wait in a queue.", q.o.MaxSize, Label{"queue", q.o.Name})
	g.counter("hsi_queue_overflow_total", "Pushes to a full queue.", s.Overflows, of, Label{"policy", string(q.o.Policy)})
	g.counter("hsi_queue_items_moved_to_dlq_total", "Jobs that a full queue moved to its overflow.", s.Moved, of)
	g.counter("hsi_queue_items_dropped_total", "Jobs that a full queue dropped.", s.Dropped, of)
	g.counter("hsi_queue_items_rejected_total", "Jobs that a full queue rejected.", s.RejectedJobs, of)
}

var breakerNumbers = map[BreakerState]int64{BreakerClosed: 0, BreakerOpen: 1, BreakerHalfOpen: 2}

func (g *gathered) breaker(b *Breaker) {
	s := b.Status()
	of := Label{"service", s.Name}
	g.gauge("hsi_circuit_breaker_state", "State of a circuit breaker: 0 closed, 1 open, 2 half-open.",
		breakerNumbers[s.State], of)
	g.counter("hsi_circuit_breaker_trips_total", "Times that a circuit breaker opened.", s.Trips, of)
	g.counter("redisqueue_breaker_calls_total", "Calls that asked a circuit breaker.", s.TotalCalls, of)
	g.counter("redisqueue_breaker_rejected_total", "Calls that a circuit breaker rejected.", s.RejectedCalls, of)
}

func (g *gathered) letters(d *DeadLetters) {
	s := d.Status()
	of := Label{"service", s.Breaker.Name}
	g.gauge("redisqueue_spool_letters", "Dead letters that wait in the spool.", int64(s.SpoolLetters), of)
	g.gauge("redisqueue_spool_bytes", "Bytes that wait in the spool.", s.SpoolBytes, of)
	g.gauge("redisqueue_spool_limit_bytes", "Bytes that the spool takes.", s.SpoolLimit, of)
	g.gauge("redisqueue_spool_damaged", "Damaged pieces of the spool that were set aside.", int64(s.Damaged), of)
	g.counter("redisqueue_letters_written_total", "Dead letters written to their lists.", s.Written, of)
	g.counter("redisqueue_letters_spooled_total", "Dead letters that went to the spool first.", s.Spooled, of)
	g.counter("redisqueue_letters_superseded_total", "Dead letters whose jobs another consumer runs.", s.Superseded, of)
}

func (g *gathered) consumer(c *Consumer) {
	s, of := c.Stats(), Label{"queue", c.o.Queue}
	const help = "Jobs that a consumer settled, by outcome."
	g.counter("redisqueue_jobs_total", help, s.Succeeded, of, Label{"outcome", "succeeded"})
	g.counter("redisqueue_jobs_total", help, s.Failed, of, Label{"outcome", "failed"})
	g.counter("redisqueue_jobs_total", help, s.Released, of, Label{"outcome", "released"})
	g.counter("redisqueue_jobs_taken_over_total", "Jobs of silent consumers that were given back.", s.TakenOver, of)
	g.gauge("redisqueue_jobs_held", "Jobs that a consumer holds.", int64(s.Held), of)
	g.gauge("redisqueue_jobs_waiting", "Of the held jobs, those that wait for another attempt.", int64(s.Waiting), of)
}
