package node

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/kit/linked"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

type someSources []*deadletter.Source

func (s someSources) Sources(context.Context, string) ([]*deadletter.Source, error) { return s, nil }

// A node leaves the turns of loops that send to others while a source needs a driver that it does not link.
func TestSendsOnlyWithAllDrivers(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	l := &links{carriers: map[string]inbox.Carrier{}, log: slog.New(slog.NewTextHandler(&log, nil)),
		missing: func(name string) error {
			if name == "kafka" {
				return &linked.MissingError{Driver: name}
			}
			return nil
		}}
	for _, c := range []struct {
		drivers []string
		want    bool
	}{{nil, true}, {[]string{"http", "memory"}, true}, {[]string{"http", "kafka"}, false}, {[]string{"kafka"}, false},
		{[]string{"http"}, true}} {
		sources := someSources{}
		for _, name := range c.drivers {
			sources = append(sources, &deadletter.Source{Name: "letters", Driver: name})
		}
		l.sources, l.looked = sources, time.Time{}
		if got := l.sends(); got != c.want {
			t.Errorf("sources of %v: it sends: %t", c.drivers, got)
		}
	}
	if n := strings.Count(log.String(), "level=WARN"); n != 1 || !strings.Contains(log.String(), "embedded/kafka") {
		t.Error("one warning should name the import:", log.String())
	}
}
