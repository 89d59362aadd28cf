package cli_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/deadletters"
)

func TestExplainAnyID(t *testing.T) {
	t.Parallel()
	const id = "0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70"
	why := deadletters.StateExplanation{State: "open", Summary: "It waits.\x1b[2J",
		Why: []string{"No policy."}, Next: "Send it."}
	for path, asked := range map[string]int{"/v1/dead-letters/" + id + "/explain": 2,
		"/v1/redrives/" + id + "/explain": 3} {
		c := &canned{answers: map[string][]any{"GET " + path: {why}}}
		code, out, errs := c.tasker(t, false, "explain", id)
		if code != 0 || out != "It waits.\\x1b[2J\n  No policy.\nNext: Send it.\n" || len(c.requests) != asked {
			t.Errorf("%s: exit code %d, %q %q, asked %v", path, code, out, errs, c.requests)
		}
	}
	c := &canned{}
	code, _, errs := c.tasker(t, false, "explain", id)
	if code != 3 || !strings.Contains(errs, "no task, dead letter or redrive") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if code, _, _ := c.tasker(t, false, "explain", "zz"); code != 2 {
		t.Errorf("exit code %d for what is no UUID", code)
	}
}
