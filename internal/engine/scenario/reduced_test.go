package scenario_test

import (
	"os"
	"path/filepath"
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
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if uses.Match(src) {
			continue
		}
		ran++
		store, _ := once.open(t)
		s := reduced{store, without}
		compare(t, file, string(src), run(t, string(src), s, func() engine.Database { return s }))
	}
	if ran < len(files)/2 {
		t.Errorf("only %d of %d scripts do without %q", ran, len(files), without)
	}
}
