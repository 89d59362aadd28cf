package letters

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/taskerhq/tasker/internal/kit/clock"
)

type monitor struct {
	address func() string // URL of the server

	mu      sync.Mutex
	pattern string // the awaited part of a command; "" for none
	seen    chan struct{}
}

// run watches every server until ctx ends.
func (m *monitor) run(ctx context.Context) {
	for ctx.Err() == nil {
		_ = m.read(ctx, m.address()) // the server may be down
		_ = clock.Sleep(ctx, 20*time.Millisecond)
	}
}

func (m *monitor) read(ctx context.Context, of string) error {
	u, err := url.Parse(of)
	if err != nil {
		return err
	}
	c, err := net.DialTimeout("tcp", u.Host, time.Second)
	if err != nil {
		return err
	}
	end := func() { _ = c.Close() } // a second call fails
	defer end()
	defer context.AfterFunc(ctx, end)()
	password, _ := u.User.Password()
	if _, err := fmt.Fprintf(c, "AUTH %s\r\nMONITOR\r\n", password); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(c, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err
		}
		m.look(line)
	}
}

func (m *monitor) look(line string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pattern != "" && strings.Contains(line, m.pattern) {
		m.pattern = ""
		close(m.seen)
	}
}

func (m *monitor) await(ctx context.Context, pattern string, patience time.Duration) bool {
	m.mu.Lock()
	seen := make(chan struct{})
	m.pattern, m.seen = pattern, seen
	m.mu.Unlock()
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-seen:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pattern = ""
	return false
}
