package task_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/task"
)

func TestValidTraceParent(t *testing.T) {
	t.Parallel()
	const good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for name, tt := range map[string]struct {
		text string
		want bool
	}{
		"Sampled":      {good, true},
		"NotSampled":   {good[:53] + "00", true},
		"LaterVersion": {"cc" + good[2:], true},
		"Empty":        {"", false},
		"Short":        {good[:54], false},
		"Long":         {good + "0", false},
		"VersionFF":    {"ff" + good[2:], false},
		"UpperCase":    {strings.ToUpper(good), false},
		"NoTrace":      {"00-00000000000000000000000000000000-b7ad6b7169203331-01", false},
		"NoSpan":       {"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false},
		"NoHex":        {strings.Replace(good, "af", "xx", 1), false},
		"NoDashes":     {strings.ReplaceAll(good, "-", "0"), false},
	} {
		if got := task.ValidTraceParent(tt.text); got != tt.want {
			t.Errorf("%s: %q is valid: %v, want %v", name, tt.text, got, tt.want)
		}
	}
}
