package scenario_test

import (
	"regexp"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
)

type reduced struct {
	engine.Database
	without []string
}

// TestFeaturesCanBeLeftOut runs the scripts on engines that lack features; scripts that do not use them print the
// same.
func TestFeaturesCanBeLeftOut(t *testing.T) {
	t.Parallel()
	without := []string{"approvals", "compensation", "limits of templates", "limits of operators"}
	uses := regexp.MustCompile(`approv|on_failure|compens|limit|concurrency|rate|permits`)
	all, ran := scripts(t, "."), 0
	for _, script := range all {
		if uses.MatchString(script.text) {
			continue
		}
		ran++
		store, _ := once.open(t)
		s := reduced{store, without}
		compare(t, script.file, script.text, run(t, script.text, s, func() engine.Database { return s }))
	}
	if ran < len(all)/2 {
		t.Errorf("only %d of %d scripts do without %q", ran, len(all), without)
	}
}
