package doctor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/model/task"
)

// size uses powers of 1024.
func size(bytes int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	n, i := float64(bytes), 0
	for n >= 1024 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d %s", bytes, units[0])
	}
	return fmt.Sprintf("%.1f %s", n, units[i])
}

// long formats a duration in at most its two largest units, below a hundredth of a second with five decimals.
func long(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

func counted(n, limit int64) string {
	if n >= limit {
		return fmt.Sprintf("%d or more", limit)
	}
	return fmt.Sprint(n)
}

func hint(err error) string {
	var e *task.Error
	if errors.As(err, &e) && e.Hint != "" {
		return strings.ToUpper(e.Hint[:1]) + e.Hint[1:] + "."
	}
	return ""
}
