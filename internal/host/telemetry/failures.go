package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/taskerhq/tasker/internal/engine"
)

func (c *caseMetrics) analyzed(a *engine.Analysis) {
	c.failures.set(a.Report, time.Now().Add(2*a.Interval+time.Minute))
}

// lastAnalysis is the last failure analysis of this process. It expires after two intervals and a minute, because
// another process may run the analysis. A kind without an alarm is 0.
type lastAnalysis struct {
	mu         sync.Mutex
	alarms     map[engine.AlarmKind]int
	replayable int
	expires    time.Time
}

var (
	alarmsDesc = prometheus.NewDesc("tasker_dlq_pattern_alarms",
		"Alarms of the last failure analysis of this process, by kind; absent if it runs none.", []string{"kind"}, nil)
	replayableDesc = prometheus.NewDesc("tasker_dlq_replayable_tasks",
		"Permanently failed tasks that a replay may help, in the window of the last failure analysis of this process; "+
			"absent if it runs none.", nil, nil)
)

func (l *lastAnalysis) set(r *engine.FailureReport, expires time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.alarms = map[engine.AlarmKind]int{}
	for _, a := range r.Alarms {
		l.alarms[a.Kind]++
	}
	l.replayable, l.expires = r.Replayable, expires
}

func (l *lastAnalysis) Describe(ch chan<- *prometheus.Desc) {
	ch <- alarmsDesc
	ch <- replayableDesc
}

func (l *lastAnalysis) Collect(ch chan<- prometheus.Metric) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !time.Now().Before(l.expires) {
		return
	}
	for _, kind := range engine.AlarmKinds {
		ch <- prometheus.MustNewConstMetric(alarmsDesc, prometheus.GaugeValue, float64(l.alarms[kind]), string(kind))
	}
	ch <- prometheus.MustNewConstMetric(replayableDesc, prometheus.GaugeValue, float64(l.replayable))
}
