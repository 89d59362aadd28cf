//go:build !unix

package vitals

import "time"

func cpuTime() (time.Duration, bool) { return 0, false }
