package incident_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/cli/demo/incident"
	"github.com/taskerhq/tasker/internal/host/node"
)

// TestStory plays a small incident, with the outcome that docs/start/demo.md promises.
func TestStory(t *testing.T) {
	t.Parallel()
	played := incident.New()
	n, err := node.Open(t.Context(), filepath.Join(t.TempDir(), "tasker.db"), node.Options{Drivers: played.Drivers()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	defer func() {
		stop()
		<-ended
		if err := n.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	var story strings.Builder
	steps := 0
	sum, err := played.Run(t.Context(), deadletters.Of(tasker.NewClient(n)), incident.Options{
		Letters: 400, Observe: 800 * time.Millisecond, Out: &story, ServerURL: "http://server",
		Next: func(context.Context) error { steps++; return nil },
	})
	if err != nil {
		t.Fatalf("%v, after:\n%s", err, &story)
	}
	want := incident.Summary{Letters: 400, Groups: 8, Redriven: 400, Returned: 7, Seconds: sum.Seconds}
	if sum != want || !sum.Sound() || sum.Seconds <= 0 {
		t.Errorf("summary %+v, want %+v", sum, want)
	}
	if steps != 6 {
		t.Errorf("the reader was asked %d times to go on, want 6", steps)
	}
	for _, line := range []string{"400 messages, 8 causes.", "$ tasker group why", "halted: 100 of 400 sent, 7 came back",
		"7 of 100 items of the wave came back", "$ tasker redrive resume", "done: 400 of 400 sent, 7 came back",
		"done: 7 of 7 sent, 0 came back", "No groups.", "0 lost, 0 sent twice", "--server http://server"} {
		if !strings.Contains(story.String(), line) {
			t.Errorf("the story lacks %q:\n%s", line, &story)
		}
	}
}
