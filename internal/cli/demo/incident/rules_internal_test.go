package incident

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/cli/demo"
)

func causes(t *testing.T, r release, readOnly bool, rows []demo.Row) map[string]int {
	t.Helper()
	a := newApplication(nil)
	a.registry.maintain(readOnly)
	got := map[string]int{}
	for i := range rows {
		payload, err := json.Marshal(&rows[i])
		if err != nil {
			t.Fatal(err)
		}
		err = a.process(r, driver.Message{MessageID: messageID(rows[i]), Payload: payload})
		switch {
		case err == nil:
			got["imported"]++
		case kindOf(err) == "strconv.NumError":
			got[strings.Fields(err.Error())[1]]++ // "read speed: ..."
		default:
			got[kindOf(err)]++
		}
	}
	return got
}

func rows(t *testing.T) []demo.Row {
	t.Helper()
	list, err := demo.Rows()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestCauses pins the numbers in docs/start/demo.md for release 2.0, and the failures of 2.1 and 2.2.
func TestCauses(t *testing.T) {
	t.Parallel()
	all := rows(t)
	want := map[string]int{"BadSpecies": 4635, "speed:": 2523, "BadOperator": 1084, "ReadOnly": 745, "BadPhase": 580,
		"BadState": 380, "cost:": 39, "BadDamage": 14}
	got := causes(t, release20, true, all)
	for cause, n := range want {
		if got[cause] != n {
			t.Errorf("%s: %d reports, want %d", cause, got[cause], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("causes %v, want %d", got, len(want))
	}
	// Reports that failed before their phase was read meet the wrong fix, too.
	if got := causes(t, release21, false, all); got["BadPhase"] == 0 || len(got) != 2 {
		t.Errorf("release 2.1: %v, want BadPhase alone", got)
	}
	if got := causes(t, release22, false, all); got["imported"] != len(all) {
		t.Errorf("release 2.2: %v, want all imported", got)
	}
	page, err := os.ReadFile("../../../../docs/start/demo.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"4,635", "2,523", "1,084", "745", "580", "380", "39", "14"} {
		if !strings.Contains(string(page), "| "+n+" |") {
			t.Errorf("docs/start/demo.md shows no row with %s reports", n)
		}
	}
}

// TestCanaryMeetsTheWrongFix: the stop rule halts the story's canary for any number of reports.
func TestCanaryMeetsTheWrongFix(t *testing.T) {
	t.Parallel()
	got := causes(t, release21, false, rows(t)[:canary])
	if n := got["BadPhase"]; float64(n) <= share*canary || n == canary {
		t.Errorf("%d of the first %d reports meet the wrong fix", n, canary)
	}
}
