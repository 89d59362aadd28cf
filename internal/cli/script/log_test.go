//go:build unix

package script_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/cli/script"
	"github.com/taskerhq/tasker/tasktest"
)

func TestLog(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ command, want string }{
		"Succeeded": {`echo begins >&2; sleep 0.05; echo 5`, "begins\n5\n"},
		"Failed":    {`echo begins; sleep 0.05; echo no route >&2; exit 75`, "begins\nno route\n"},
		"TooMuch":   {`yes | head -c 100000`, "y\n"},
		"Silent":    {`exit 1`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := tasktest.RunHandler(t, handler(t, tc.command, &script.Options{MaxOutput: 1000}), tasktest.Step{})
			if !strings.HasSuffix(out.Log, tc.want) || tc.want == "" && out.Log != "" || len(out.Log) > 64<<10 {
				t.Errorf("the log is %.40q", out.Log)
			}
		})
	}
}
