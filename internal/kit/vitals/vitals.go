// Package vitals measures the health of its process: memory, CPU and goroutines, each against a limit.
//
// Memory is compared with the smallest bound that applies: GOMEMLIMIT, the memory limit of the control group, or the
// memory of the machine. CPU is the process's time over a window, in percent of its cores. A value that the system does
// not offer is unknown, and never unhealthy.
//
// Workers of the SDK use it, so it imports the standard library only. Begin with New and Monitor.Look.
package vitals

import (
	"runtime"
	"sync"
	"time"
)

// Limits are the bounds of a healthy process. 0 or less means no limit.
type Limits struct {
	MemoryPercent float64 // of the memory that the process may use
	CPUPercent    float64 // of the cores that it may use
	Goroutines    int
}

// Check is one measurement. Value and Limit are in percent, or a number of goroutines. An unknown value is OK.
type Check struct {
	Name         string
	OK, Known    bool
	Value, Limit float64
}

// The names of checks.
const (
	Memory     = "memory"
	CPU        = "cpu"
	Goroutines = "goroutines"
)

// span is the minimal window of CPU use, and step the distance of two readings: a short peak is not an overload.
const (
	span = 30 * time.Second
	step = time.Second
)

// Monitor measures on demand, without a background loop. It is safe for concurrent use.
type Monitor struct {
	limits Limits
	source source

	mu       sync.Mutex
	readings []reading // of CPU time; the first is the base of comparison
}

type reading struct {
	at  time.Time
	cpu time.Duration
}

type source struct {
	cpu        func() (used time.Duration, ok bool)
	cores      func() int
	memory     func() (percent float64, ok bool)
	goroutines func() int
}

// New returns a monitor of this process, which measures CPU use from now on.
func New(limits Limits) *Monitor {
	return newMonitor(limits, source{cpuTime, func() int {
		return runtime.GOMAXPROCS(0)
	}, memoryPercent, runtime.NumGoroutine})
}

func newMonitor(limits Limits, s source) *Monitor {
	m := &Monitor{limits: limits, source: s}
	m.cpu(time.Now())
	return m
}

// Look returns the checks: memory, CPU, goroutines. CPU use is that of the last 30 s, or since the previous look if
// that is longer ago.
func (m *Monitor) Look() []Check {
	memory, memoryKnown := m.source.memory()
	cpu, cpuKnown := m.cpu(time.Now())
	n := m.source.goroutines()
	return []Check{
		check(Memory, memory, m.limits.MemoryPercent, memoryKnown),
		check(CPU, cpu, m.limits.CPUPercent, cpuKnown),
		check(Goroutines, float64(n), float64(m.limits.Goroutines), true),
	}
}

func check(name string, value, limit float64, known bool) Check {
	return Check{Name: name, OK: !known || limit <= 0 || value < limit, Known: known, Value: value, Limit: limit}
}

// cpu takes a reading, and returns the use since the base; unknown while the base is too young.
func (m *Monitor) cpu(now time.Time) (percent float64, known bool) {
	used, ok := m.source.cpu()
	if !ok {
		return 0, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.readings) > 1 && now.Sub(m.readings[1].at) >= span {
		m.readings = m.readings[1:]
	}
	if n := len(m.readings); n == 0 || now.Sub(m.readings[n-1].at) >= step {
		m.readings = append(m.readings, reading{now, used})
	}
	from := m.readings[0]
	took := now.Sub(from.at)
	if took < step {
		return 0, false
	}
	return 100 * float64(used-from.cpu) / float64(took) / float64(max(m.source.cores(), 1)), true
}
