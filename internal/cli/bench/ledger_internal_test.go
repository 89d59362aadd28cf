package bench

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/worker/protocol"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	task, step := uuid.New(), uuid.New()
	claim := func(l *ledger, token string) {
		l.claimed([]protocol.Assignment{{TaskUUID: task, StepUUID: step, Token: token}})
	}
	settle := func(l *ledger) {
		l.settled([]protocol.SettleAnswer{{StepUUID: step, State: tasker.StepComplete}})
	}
	for name, tc := range map[string]struct {
		story func(*ledger)
		want  string // in the error; "" for none
	}{
		"OK":                           {func(l *ledger) { l.submitted(task); claim(l, "1"); settle(l) }, ""},
		"HandedOutAgainUnderANewToken": {func(l *ledger) { l.submitted(task); claim(l, "1"); claim(l, "2"); settle(l) }, ""},
		"HandedOutTwice": {func(l *ledger) {
			l.submitted(task)
			claim(l, "1")
			claim(l, "1")
			settle(l)
		}, "handed out twice"},
		"SettledTwice": {func(l *ledger) {
			l.submitted(task)
			claim(l, "1")
			settle(l)
			settle(l)
		}, "1 more than once"},
		"Lost":                 {func(l *ledger) { l.submitted(task); claim(l, "1") }, "1 were not settled"},
		"SettledWithoutALease": {func(l *ledger) { l.submitted(task); settle(l) }, "nobody had been handed"},
		"NeverSubmitted":       {func(l *ledger) { claim(l, "1"); settle(l) }, "1 were settled in all"},
		"RefusedIsNotSettled": {func(l *ledger) {
			l.submitted(task)
			claim(l, "1")
			l.settled([]protocol.SettleAnswer{{StepUUID: step, Error: &tasker.Error{Code: tasker.CodeStaleToken}}})
		}, "1 were not settled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLedger()
			tc.story(l)
			_, err := l.check()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
