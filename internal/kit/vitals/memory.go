package vitals

import (
	"bufio"
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

// memoryPercent is the use of the tightest bound: the Go runtime's limit (GOMEMLIMIT), that of the control group, or
// else the machine's memory. The latter two are known on Linux.
func memoryPercent() (float64, bool) {
	heap, heapKnown := heapPercent()
	rest, restKnown := systemPercent(os.DirFS("/"))
	return max(heap, rest), heapKnown || restKnown
}

// heapPercent compares the live heap after the last collection with the runtime's limit; between collections the
// runtime lets it grow up to the limit.
func heapPercent() (float64, bool) {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 || limit <= 0 {
		return 0, false
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() != metrics.KindUint64 {
		return 0, false
	}
	return 100 * float64(live[0].Value.Uint64()) / float64(limit), true
}

// systemPercent reads the files of Linux, under a root directory.
func systemPercent(root fs.FS) (float64, bool) {
	if percent, ok := groupPercent(root); ok {
		return percent, true
	}
	info := fields(root, "proc/meminfo")
	total, available := info["MemTotal:"], info["MemAvailable:"]
	if total <= 0 || available <= 0 {
		return 0, false
	}
	return 100 * (total - available) / total, true
}

// groupPercent is the use of the tightest control group (version 2) of the process, without droppable pages.
func groupPercent(root fs.FS) (percent float64, ok bool) {
	own, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	_, group, found := strings.Cut("\n"+string(own), "\n0::")
	if !found {
		return 0, false
	}
	group, _, _ = strings.Cut(group, "\n")
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
		at := path.Join("sys/fs/cgroup", dir)
		limit, limited := number(root, path.Join(at, "memory.max"))
		used, known := number(root, path.Join(at, "memory.current"))
		if limited && known && limit > 0 {
			used -= fields(root, path.Join(at, "memory.stat"))["inactive_file"]
			percent, ok = max(percent, 100*max(used, 0)/limit), true
		}
		if dir == "/" {
			return percent, ok
		}
	}
}

// number reads a file with one number; "max" means none.
func number(root fs.FS, name string) (float64, bool) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	v, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return float64(v), err == nil
}

// fields reads a file with a name and a number per line; nil if it is missing.
func fields(root fs.FS, name string) map[string]float64 {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return nil
	}
	out := map[string]float64{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) >= 2 {
			if v, err := strconv.ParseFloat(f[1], 64); err == nil {
				out[f[0]] = v
			}
		}
	}
	return out
}
