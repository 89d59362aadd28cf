package driver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// OpenFunc connects to the broker that a URL names.
type OpenFunc func(ctx context.Context, url string) (Driver, error)

// Registry maps the names of drivers to how they are opened. The program that wires drivers makes one; there is no
// global one.
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
