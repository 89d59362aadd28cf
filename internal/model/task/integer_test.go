package task_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestPlainInteger(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("0", 100)
	for raw, want := range map[string]string{
		"59": "59", "-59": "-59", "59.0": "59", "59.": "59", "5.9e1": "59", "5.9E1": "59", "5.90e1": "59", "590e-1": "59",
		"-5.9e1": "-59",
		"0.0":    "0", "-0.0": "0", "0e5": "0", "0.0e-5": "0", "00.5e1": "5", "1.5e3": "1500", "12e0": "12", "e3": "0",
		"1e100": "1" + zeros, "1e101": "", "10e-1": "1", "1" + zeros + "e-100": "1", "1" + zeros + "0e-101": "",
		"59.5": "", "5.91e1": "", "1e-1": "", "0.5": "", "15e-1": "", "1e": "", "1ex": "", "1e99999999999999999999": "",
		"x": "x", ".x": "",
	} {
		if got := task.PlainInteger(raw); got != want {
			t.Errorf("%s is %q, want %q", raw, got, want)
		}
	}
}
