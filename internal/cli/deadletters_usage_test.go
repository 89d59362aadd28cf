package cli_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/deadletters"
)

func TestMistakesInDeadLetterCommands(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"inbox --limit 0", "inbox --limit -1", "inbox --state zz", "inbox --order size",
		"group show zz", "group why 00000000000000AB", "group ack " + groupID + " zz", "group merge " + groupID + " zz",
		"group unmerge zz", "group split zz --when true", "group split " + groupID,
		"group unsplit zz", "letter list --state zz",
		"letter list --limit 0", "letter show zz", "redrive list --state running,zz", "redrive report zz",
		"redrive plan --kind zz",
		"redrive start 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70 --canary 3",
		"redrive start 0190a0b4-7c4e-7bd3-8a4e-3f1c2d5e6f70 --group " + groupID, "redrive plan --operation zz",
		"policy set billing --strategy zz", "rule add a",
		"rule test --when true --group zz", "rule test --when true --header a", "task list --limit 0"} {
		c := &canned{}
		code, _, errs := c.tasker(t, false, strings.Fields(args)...)
		if code != 2 || len(c.requests) > 0 || errs == "" {
			t.Errorf("tasker %s: exit code %d, requests %v, %s", args, code, c.requests, errs)
		}
	}
}

func TestPlanOfNothing(t *testing.T) {
	t.Parallel()
	c := &canned{answers: map[string][]any{"POST /v1/redrives/preview": {deadletters.Preview{}}}}
	code, _, errs := c.tasker(t, false, "redrive", "plan", "--group", groupID)
	if code != 4 || !strings.Contains(errs, "selects nothing") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

func TestRuleCommands(t *testing.T) {
	t.Parallel()
	rule := deadletters.SavedRule{Rule: deadletters.Rule{Namespace: "default", Name: "tenants", When: "true",
		GroupBy: []string{"code"}}, Version: 3, Since: 2}
	c := &canned{answers: map[string][]any{"POST /v1/rules": {rule}, "POST /v1/groups/" + groupID + "/split": {rule},
		"GET /v1/rules/default/tenants": {deadletters.RuleStory{SavedRule: rule, Versions: []deadletters.SavedRule{rule}}},
		"POST /v1/rules/test": {deadletters.RuleTrial{Tried: 2, Matched: 1, Items: []deadletters.RuleItem{
			{Kind: "letter", Matched: true, GroupID: groupID, Title: "tenants: acme"}}}}}}
	for args, want := range map[string][2]string{
		"rule add tenants --when true --key code":        {"tenants", `"group_by":["code"]`},
		"rule show tenants":                              {"VERSION", "GET /v1/rules/default/tenants"},
		"rule test --when true --message m --header a=b": {"tenants: acme", `"headers":[{"name":"a","value":"b"}]`},
		"group split " + groupID + " --key code":         {"tenants", `"group_by":["code"]`},
	} {
		code, out, errs := c.tasker(t, false, strings.Fields(args)...)
		if code != 0 || !strings.Contains(out, want[0]) || !strings.Contains(c.last(), want[1]) {
			t.Errorf("tasker %s: exit code %d, %s %s, asked %s", args, code, out, errs, c.last())
		}
	}
}
