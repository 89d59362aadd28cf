package driver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/kit/linked"
)

// OpenFunc connects to the broker of a URL.
type OpenFunc func(ctx context.Context, url string) (Driver, error)

var drivers linked.Set[OpenFunc]

// Register adds a driver to those that the program links. Only functions init of packages below
// embedded call it.
func Register(name string, open OpenFunc) { drivers.Register(name, open) }

// Linked returns the drivers that the program links.
func Linked() Registry { return drivers.All() }

// Missing returns the error of a driver that the program could link and does not; nil for any other name.
func Missing(name string) error { return drivers.Missing(name) }

// Registry maps names of drivers to their open functions.
type Registry map[string]OpenFunc

// Names returns the names of the drivers in alphabetical order.
func (r Registry) Names() []string { return slices.Sorted(maps.Keys(r)) }

// Open connects to a broker. No error of it, of the driver or of its receivers shows a secret of the URL.
func (r Registry) Open(ctx context.Context, name, url string) (Driver, error) {
	open, ok := r[name]
	if !ok {
		return nil, fmt.Errorf("unknown driver %q: use one of %s", name, strings.Join(r.Names(), ", "))
	}
	secrets := secretsOf(url)
	d, err := open(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", Redact(url), secrets.hide(err))
	}
	return &guarded{d, secrets}, nil
}

type guarded struct {
	driver  Driver
	secrets secrets
}

func (g *guarded) Open(ctx context.Context, queue string) (Receiver, error) {
	r, err := g.driver.Open(ctx, queue)
	if err != nil {
		return nil, g.secrets.hide(err)
	}
	return &guardedReceiver{r, g.secrets}, nil
}

func (g *guarded) Send(ctx context.Context, target string, messages []Message, limits Limits) []error {
	errs := g.driver.Send(ctx, target, messages, limits)
	for i, err := range errs {
		errs[i] = g.secrets.hide(err)
	}
	return errs
}

func (g *guarded) Stat(ctx context.Context, queue string) (bool, int64, error) {
	exists, depth, err := g.driver.Stat(ctx, queue)
	return exists, depth, g.secrets.hide(err)
}

func (g *guarded) Peek(ctx context.Context, queue string, max int) ([]Message, error) {
	messages, err := g.driver.Peek(ctx, queue, max)
	return messages, g.secrets.hide(err)
}

func (g *guarded) Lag(ctx context.Context, queue string) ([]PartitionLag, error) {
	lags, err := g.driver.Lag(ctx, queue)
	return lags, g.secrets.hide(err)
}

func (g *guarded) LogParts(ctx context.Context, queue string, since, before time.Time) ([]LogPart, error) {
	parts, err := g.driver.LogParts(ctx, queue, since, before)
	return parts, g.secrets.hide(err)
}

func (g *guarded) ReadLog(ctx context.Context, queue string, part LogPart, max int) ([]Entry, int64, error) {
	entries, next, err := g.driver.ReadLog(ctx, queue, part, max)
	return entries, next, g.secrets.hide(err)
}

func (g *guarded) Close() error { return g.secrets.hide(g.driver.Close()) }

type guardedReceiver struct {
	Receiver
	secrets secrets
}

func (g *guardedReceiver) Receive(ctx context.Context, max int) ([]Message, error) {
	messages, err := g.Receiver.Receive(ctx, max)
	return messages, g.secrets.hide(err)
}

func (g *guardedReceiver) Ack(ctx context.Context, messages []Message) error {
	return g.secrets.hide(g.Receiver.Ack(ctx, messages))
}

func (g *guardedReceiver) Release(ctx context.Context, messages []Message) error {
	return g.secrets.hide(g.Receiver.Release(ctx, messages))
}

func (g *guardedReceiver) Leave(ctx context.Context, messages []Message) (again bool, err error) {
	again, err = g.Receiver.Leave(ctx, messages)
	return again, g.secrets.hide(err)
}

func (g *guardedReceiver) Return(ctx context.Context, most int) ([]Left, error) {
	left, err := g.Receiver.Return(ctx, most)
	return left, g.secrets.hide(err)
}

func (g *guardedReceiver) Close() error { return g.secrets.hide(g.Receiver.Close()) }
