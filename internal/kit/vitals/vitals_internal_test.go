package vitals

import (
	"math"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

func TestLook(t *testing.T) {
	t.Parallel()
	limits := Limits{MemoryPercent: 90, CPUPercent: 95, Goroutines: 100}
	for name, c := range map[string]struct {
		limits     Limits
		memory     float64
		cpu        float64 // cores in use, of two
		goroutines int
		ill        string
	}{
		"Well":         {limits, 89, 1.8, 99, ""},
		"Memory":       {limits, 90, 1, 1, "memory "},
		"CPU":          {limits, 1, 1.95, 1, "cpu "},
		"Goroutines":   {limits, 1, 1, 100, "goroutines "},
		"All":          {limits, 100, 2, 1000, "memory cpu goroutines "},
		"NoLimits":     {Limits{}, 100, 2, 1000, ""},
		"SwitchedOff":  {Limits{-1, -1, -1}, 100, 2, 1000, ""},
		"MemoryHidden": {limits, -1, 1, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				m := newMonitor(c.limits, source{
					cpu:        func() (time.Duration, bool) { return time.Duration(c.cpu * float64(time.Since(begun))), true },
					cores:      func() int { return 2 },
					memory:     func() (float64, bool) { return c.memory, c.memory >= 0 },
					goroutines: func() int { return c.goroutines },
				})
				if first := m.Look()[1]; first.Known || !first.OK {
					t.Errorf("CPU use is known at once: %+v", first)
				}
				time.Sleep(30 * time.Second)
				ill := ""
				for _, check := range m.Look() {
					if !check.OK {
						ill += check.Name + " "
					}
				}
				if ill != c.ill {
					t.Errorf("ill: %q, want %q", ill, c.ill)
				}
			})
		})
	}
}

// The window is half a minute, for any frequency of looks.
func TestCPUOverTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var used time.Duration
		m := newMonitor(Limits{CPUPercent: 95}, source{
			cpu:        func() (time.Duration, bool) { return used, true },
			cores:      func() int { return 1 },
			memory:     func() (float64, bool) { return 0, false },
			goroutines: func() int { return 1 },
		})
		look := func() Check {
			time.Sleep(100 * time.Millisecond)
			return m.Look()[1]
		}
		for range 600 { // a minute of nothing
			look()
		}
		for i := range 285 {
			used += 100 * time.Millisecond
			if c := look(); !c.OK {
				t.Fatalf("ill after %d tenths of a second: %+v", i, c)
			}
		}
		for range 30 {
			used += 100 * time.Millisecond
			look()
		}
		if c := look(); c.OK || c.Value > 100.1 {
			t.Errorf("well after half a minute: %+v", c)
		}
		if n := len(m.readings); n > 40 {
			t.Errorf("%d readings are kept", n)
		}
	})
}

func TestSystemPercent(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	machine := file("MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  250 kB\n")
	for name, c := range map[string]struct {
		root fstest.MapFS
		want float64 // -1: not known
	}{
		"NotLinux": {fstest.MapFS{}, -1},
		"Machine":  {fstest.MapFS{"proc/meminfo": machine}, 75},
		"Container": {fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("0::/\n"),
			"sys/fs/cgroup/memory.max": file("1000\n"), "sys/fs/cgroup/memory.current": file("800\n"),
			"sys/fs/cgroup/memory.stat": file("anon 100\ninactive_file 300\n")}, 50},
		"NoLimit": {fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("0::/a\n"),
			"sys/fs/cgroup/a/memory.max": file("max\n"), "sys/fs/cgroup/a/memory.current": file("800\n")}, 75},
		"LimitAbove": {fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("1:name=x:/y\n0::/a/b\n"),
			"sys/fs/cgroup/a/memory.max": file("1000\n"), "sys/fs/cgroup/a/memory.current": file("900\n"),
			"sys/fs/cgroup/a/b/memory.max": file("1000\n"), "sys/fs/cgroup/a/b/memory.current": file("10\n")}, 90},
		"VersionOne": {fstest.MapFS{"proc/meminfo": machine, "proc/self/cgroup": file("4:memory:/a\n")}, 75},
		"Nonsense":   {fstest.MapFS{"proc/meminfo": file("MemTotal: much\n"), "proc/self/cgroup": file("0::/../../x")}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := systemPercent(c.root)
			if !ok {
				got = -1
			}
			if math.Abs(got-c.want) > 1e-9 {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// On the system of the tests, something is known.
func TestThisProcess(t *testing.T) {
	t.Parallel()
	checks := New(Limits{}).Look()
	if len(checks) != 3 || checks[0].Name != Memory || checks[1].Name != CPU || checks[2].Name != Goroutines {
		t.Fatalf("%+v", checks)
	}
	if m := checks[0]; m.Known && (m.Value <= 0 || m.Value > 200) {
		t.Errorf("memory: %+v", m)
	}
	if checks[2].Value < 1 {
		t.Errorf("goroutines: %+v", checks[2])
	}
}
