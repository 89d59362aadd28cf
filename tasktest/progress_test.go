package tasktest_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/taskerhq/tasker/tasktest"
	"github.com/taskerhq/tasker/worker"
)

func TestProgressMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for message, want := range map[string]string{
			"page 4 of 10\n\tok":              "page 4 of 10\n\tok",
			"a\x1b[2Jb\x00c\rd":               "a\uFFFD[2Jb\uFFFDc\uFFFDd",
			"a\xffb":                          "a\uFFFDb",
			"x" + strings.Repeat("ä", 1000):   "x" + strings.Repeat("ä", 511),
			strings.Repeat("\xff", 2000):      "\uFFFD",
			strings.Repeat("y", 1024) + "end": strings.Repeat("y", 1024),
		} {
			out := tasktest.RunHandler(t, func(_ context.Context, job *worker.Job) (any, error) {
				return nil, job.Progress(40, message)
			}, tasktest.Step{})
			if len(out.Progress) != 1 || out.Progress[0].Message != want || !utf8.ValidString(out.Progress[0].Message) {
				t.Errorf("%.20q is reported as %+v", message, out.Progress)
			}
		}
	})
}
