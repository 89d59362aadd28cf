package node

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/model/deadletter"
)

// lookEvery bounds how often a node looks whether it links the drivers of all sources.
const lookEvery = time.Second

// links knows whether this node can send for all sources of its database. Another node may link more drivers, and takes
// the turns of loops that this one leaves: a send without its driver would fail, and count as a try.
type links struct {
	sources interface {
		Sources(ctx context.Context, namespace string) ([]*deadletter.Source, error)
	}
	carriers map[string]inbox.Carrier
	missing  func(driver string) error
	log      *slog.Logger

	mu     sync.Mutex
	looked time.Time
	able   bool
	warned string // of this driver
}

// sends is the Able of loops that send.
func (l *links) sends() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.looked) < lookEvery {
		return l.able
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookEvery)
	defer cancel()
	sources, err := l.sources.Sources(ctx, "")
	if err != nil { // the loop finds out why
		return true
	}
	l.looked, l.able = time.Now(), true
	for _, s := range sources {
		err := l.missing(s.Driver)
		if err == nil || l.carriers[s.Driver] != nil {
			continue
		}
		if l.able = false; l.warned != s.Driver {
			l.warned = s.Driver
			l.log.Warn("a source has a driver that this program does not link: another node must read it, and send letters back",
				"source", s.Name, "error", err)
		}
		break
	}
	return l.able
}
