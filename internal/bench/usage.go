package bench

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of CPU time in /proc, fixed at 100 Hz for user space.
const clockTick = 10 * time.Millisecond

// cpuTime is the CPU time that processes have used, 0 where there is no /proc.
func cpuTime(pids []int) (time.Duration, error) {
	var total time.Duration
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return 0, err
		}
		// the name, in parentheses, may hold anything
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		for _, f := range fields[11:13] { // utime, stime
			n, err := strconv.ParseInt(f, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read CPU time of %d: %w", pid, err)
			}
			total += time.Duration(n) * clockTick
		}
	}
	return total, nil
}

// maxRSS is the sum of the highest resident sizes of processes, 0 where there
// is no /proc.
func maxRSS(pids []int) (int64, error) {
	var total int64
	for _, pid := range pids {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return 0, err
		}
		_, rest, ok := strings.Cut(string(status), "VmHWM:")
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read resident size of %d: %w", pid, err)
		}
		total += kib << 10
	}
	return total, nil
}
