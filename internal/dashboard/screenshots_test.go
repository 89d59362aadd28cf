package dashboard_test

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/cli/demo"
	"github.com/taskerhq/tasker/internal/cli/demo/incident"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/testkit/browsertest"
)

var screenshots = flag.String("screenshots", "", "directory for the pictures of the documentation: make screenshots")

// errEnough ends the incident after the pictures.
var errEnough = errors.New("enough")

// TestScreenshots takes the pictures of the documentation from the demos: an incident until its redrive has halted, and
// failed reports.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("it checks nothing; make screenshots takes the pictures of the documentation")
	}
	played := incident.New()
	s := serveWith(t, node.Options{Drivers: played.Drivers()})
	s.run()
	client := tasker.NewClient(s.engine)
	if _, err := demo.Run(t.Context(), client, demo.Options{Records: 2000, Progress: io.Discard,
		Logger: slog.New(slog.DiscardHandler)}); err != nil {
		t.Fatal(err)
	}
	halted := func(ctx context.Context) error {
		page, err := s.engine.DeadLetters().Redrives(ctx, deadletters.RedriveFilter{Limit: 1,
			States: []deadletters.RedriveState{deadletters.RedriveHalted}})
		if err == nil && len(page.Redrives) > 0 {
			err = errEnough
		}
		return err
	}
	_, err := played.Run(t.Context(), s.engine.DeadLetters(), incident.Options{Letters: 2000, Next: halted})
	if !errors.Is(err, errEnough) {
		t.Fatalf("the incident ended before a redrive halted: %v", err)
	}
	b := browsertest.New(t)
	first := func(list, link string) string {
		b.Open(s.url + list)
		return s.url + b.Attr(link, "href")
	}
	for name, address := range map[string]string{
		"now": s.url + "/", "inbox": s.url + "/inbox?order=open",
		"group":   first("/inbox?order=open", "tbody td.title a"),
		"redrive": first("/redrives", "tbody td.title a"),
		"task":    first("/tasks?view=error", "tbody td.title a"),
	} {
		b.Open(address)
		b.WaitText("#live", "Live")
		b.Screenshot(filepath.Join(*screenshots, "dashboard-"+name+".png"), 1280, 800, false)
		if name == "inbox" || name == "redrive" {
			b.Screenshot(filepath.Join(*screenshots, "dashboard-"+name+"-dark.png"), 1280, 800, true)
		}
	}
	b.Open(first("/inbox?order=open", "tbody td.title a"))
	b.Screenshot(filepath.Join(*screenshots, "dashboard-narrow.png"), 390, 800, false)
}
