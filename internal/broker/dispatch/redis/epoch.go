package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
)

// belief is this process's view of the content. The Dispatcher's mutex guards it.
type belief struct {
	epoch     string // the epoch in use; empty: none
	condemned string // an incomplete epoch, which it may replace
	turn      string
}

var errEvicts = errors.New(
	"the server throws keys away when its memory is full: set its maxmemory-policy to noeviction")

func (d *Dispatcher) believed() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.belief.epoch
}

// disbelieve drops an epoch, so that the next Check learns the one in force.
func (d *Dispatcher) disbelieve(epoch string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.belief.epoch == epoch {
		d.belief.epoch = ""
	}
}

type content struct {
	epoch string // empty: incomplete
	run   string
}

func (c content) ofThisRun() bool { return c.epoch != "" && strings.HasSuffix(c.epoch, "."+c.run) }

// look reads the content's epoch and the server's run, and checks that the server evicts no keys. The script ignores an
// empty epoch.
func (d *Dispatcher) look(ctx context.Context) (content, error) {
	answers, err := d.ask(ctx, d.scripts.check, "", [][]string{nil})
	if err != nil {
		return content{}, err
	}
	fields, err := answers[0].AsStrSlice()
	if err != nil || len(fields) != 3 {
		return content{}, fmt.Errorf("the server answered %d fields: %w", len(fields), errors.Join(err, errAnswer))
	}
	c := content{epoch: fields[0], run: fields[1]}
	if policy := fields[2]; policy != "" {
		return content{}, fmt.Errorf("%w; it is %s", errEvicts, policy)
	}
	return c, nil
}

// verify checks that all connections have reached the run of the server in which the content was filled. A new
// connection may have reached a restarted or replaced server, so its answers need this check.
func (d *Dispatcher) verify(ctx context.Context) error {
	dials := d.dials.Load()
	if dials == d.verified.Load() {
		return nil
	}
	c, err := d.look(ctx)
	if err != nil {
		return err
	}
	if c.epoch != "" && !c.ofThisRun() {
		d.condemn(c.epoch)
		return engine.ErrDispatchLost
	}
	d.verified.Store(dials)
	return nil
}

// condemn marks the content of an epoch as incomplete. Reload may then replace only that epoch.
func (d *Dispatcher) condemn(epoch string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.belief.epoch, d.belief.condemned = "", epoch
}

// Check reports whether the server answers and its content is complete. A process with another epoch gets
// ErrDispatchLost once, to restore what it remembers.
func (d *Dispatcher) Check(ctx context.Context) error {
	dials := d.dials.Load()
	c, err := d.look(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("check Redis: %w", err)
	case c.epoch != "" && !c.ofThisRun():
		d.condemn(c.epoch)
		return engine.ErrDispatchLost
	}
	d.verified.Store(dials)
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := &d.belief; c.epoch == "" || b.epoch != "" && b.epoch != c.epoch {
		b.epoch = ""
		return engine.ErrDispatchLost
	}
	d.belief.epoch = c.epoch
	return nil
}

// Content returns the epoch of the content. Processes with the same epoch use the same content.
func (d *Dispatcher) Content() string { return d.believed() }

// Reload begins to fill the content, or prolongs its turn by hold. A process that gets false calls Check until the
// other is done; a process whose turn has expired gets false once.
func (d *Dispatcher) Reload(ctx context.Context, hold time.Duration) (bool, error) {
	d.mu.Lock()
	b := d.belief
	d.mu.Unlock()
	turn := b.turn
	if turn == "" {
		turn = rand.Text()
	}
	millis := strconv.FormatInt(max(hold.Milliseconds(), 1), 10)
	answers, err := d.ask(ctx, d.scripts.reload, b.epoch, [][]string{{b.condemned, b.turn, turn, millis}})
	if err != nil {
		return false, fmt.Errorf("begin to fill Redis: %w", err)
	}
	mine, err := answers[0].AsInt64()
	if err != nil {
		return false, fmt.Errorf("begin to fill Redis: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if mine == 1 {
		d.belief.epoch, d.belief.turn = "", turn
	} else {
		d.belief.turn = ""
	}
	return mine == 1, nil
}

// Loaded declares the content complete. Steps can be claimed from then on.
func (d *Dispatcher) Loaded(ctx context.Context) error {
	d.mu.Lock()
	turn := d.belief.turn
	d.mu.Unlock()
	if turn == "" {
		return engine.ErrDispatchLost
	}
	dials := d.dials.Load()
	answers, err := d.ask(ctx, d.scripts.loaded, "", [][]string{{turn, rand.Text()}})
	if errors.Is(err, engine.ErrDispatchLost) {
		d.endTurn("")
		return err
	}
	if err != nil {
		return fmt.Errorf("end filling Redis: %w", err) // it can be called again
	}
	epoch, err := answers[0].ToString()
	if err != nil {
		return fmt.Errorf("end filling Redis: %w", err)
	}
	d.verified.Store(dials)
	d.endTurn(epoch)
	return nil
}

func (d *Dispatcher) endTurn(epoch string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.belief.epoch, d.belief.turn = epoch, ""
}
