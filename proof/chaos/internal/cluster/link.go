package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

// Link is the network between two processes, which can be cut and stalled. Its methods are safe for concurrent use.
type Link struct{ proxy *toxiproxy.Proxy }

// Direction is one of the two ways over a Link.
type Direction string

// The directions: to the server behind the Link, and back.
const (
	Up   Direction = "upstream"
	Down Direction = "downstream"
)

// NewLink listens on one address and forwards to another.
func NewLink(listen, upstream string) (*Link, error) {
	zerolog.SetGlobalLevel(zerolog.Disabled) // some of toxiproxy logs to standard error, despite its logger
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	l := &Link{toxiproxy.NewProxy(server, "link", listen, upstream)}
	if err := l.proxy.Start(); err != nil {
		return nil, fmt.Errorf("link %s with %s: %w", listen, upstream, err)
	}
	return l, nil
}

// Address is where the Link listens.
func (l *Link) Address() string { return l.proxy.Listen }

// Cut closes all connections and refuses new ones.
func (l *Link) Cut() { l.proxy.Stop() }

// Reset accepts connections and breaks each with the first data.
func (l *Link) Reset() error { return l.poison("reset_peer", nil, Up, Down) }

// Hold delays all data until the Link is restored.
func (l *Link) Hold(ways ...Direction) error {
	return l.poison("latency", map[string]any{"latency": time.Hour.Milliseconds()}, ways...)
}

// Starve passes no data on, though connections stay open, until the Link is restored.
func (l *Link) Starve(ways ...Direction) error {
	return l.poison("bandwidth", map[string]any{"rate": 0}, ways...)
}

// Swallow drops all data. Connections look open until the Link is restored; then they are closed.
func (l *Link) Swallow(ways ...Direction) error {
	return l.poison("timeout", map[string]any{"timeout": 0}, ways...)
}

// Slow delays everything by d, give or take half of it.
func (l *Link) Slow(d time.Duration) error {
	return l.poison("latency", map[string]any{"latency": d.Milliseconds(), "jitter": d.Milliseconds() / 2}, Up, Down)
}

// Slice passes all data on in small pieces, each a moment after the other.
func (l *Link) Slice() error {
	return l.poison("slicer", map[string]any{"average_size": 64, "size_variation": 32, "delay": 200}, Up, Down)
}

func (l *Link) poison(kind string, attributes map[string]any, ways ...Direction) error {
	for _, way := range ways {
		toxic, err := json.Marshal(map[string]any{"name": kind + " " + string(way), "type": kind, "stream": way,
			"toxicity": 1, "attributes": attributes})
		if err != nil {
			return fmt.Errorf("describe %s: %w", kind, err)
		}
		if _, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(string(toxic))); err != nil {
			return fmt.Errorf("add %s to the link %s: %w", kind, l.Address(), err)
		}
	}
	return nil
}

// Restore ends every fault of the Link: connections work again.
func (l *Link) Restore(ctx context.Context) error {
	l.proxy.Toxics.ResetToxics(ctx)
	if err := l.proxy.Start(); err != nil && !errors.Is(err, toxiproxy.ErrProxyAlreadyStarted) {
		return fmt.Errorf("restore the link %s: %w", l.Address(), err)
	}
	return nil
}

// Close cuts the Link for good.
func (l *Link) Close() { l.proxy.Stop() }
