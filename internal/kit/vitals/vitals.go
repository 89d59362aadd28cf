// Package vitals measures the health of its own process: memory, CPU and goroutines, each
// against a limit.
//
// Memory is compared with the smallest bound that applies: GOMEMLIMIT, the memory limit of the
// control group, or the memory of the machine. CPU is the time that the process used over a
// window, in percent of its cores. A value that the system does not offer is reported as not
// known, and never makes a process unhealthy.
//
// A worker of the SDK uses it for its health report, so the package imports the standard
// library only. Begin with New and Monitor.Look.
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

// Check is one measurement. Value and Limit are in the unit of its name: percent, or a number
// of goroutines. Known is false where the value cannot be measured; OK is then true.
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

// span is how far back CPU use is measured at least, and step how far two readings
// of it are apart: a process that is busy for a moment is not overloaded.
const (
	span = 30 * time.Second
	step = time.Second
)

// Monitor measures when it is asked, and does nothing in between. It is safe for concurrent
// use.
type Monitor struct {
	limits Limits
	source source

	mu       sync.Mutex
	readings []reading // of CPU time; the first is the one to compare with
}

// reading is the CPU time that the process had used at a time.
type reading struct {
	at  time.Time
	cpu time.Duration
}

// source is where readings come from.
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

// newMonitor is New with another source, for tests.
func newMonitor(limits Limits, s source) *Monitor {
	m := &Monitor{limits: limits, source: s}
	m.cpu(time.Now())
	return m
}

// Look returns the checks: memory, CPU, goroutines. CPU use is that of the last
// 30 s, or since the look before if that is longer ago.
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

// cpu takes a reading, and returns the use since the one to compare with. It is not
// known while there is none that is old enough.
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
