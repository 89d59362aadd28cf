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

// belief is what this process takes for the content.
type belief struct {
	epoch     string // the one it works with; empty: none
	condemned string // one that it found incomplete, and may replace
	turn      string // its turn to fill the content
}

// errEvicts says that the server is not fit to keep anything.
var errEvicts = errors.New(
	"the server throws keys away when its memory is full: set its maxmemory-policy to noeviction")

func (d *Dispatcher) believed() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.belief.epoch
}

// disbelieve forgets an epoch, so that the next Check learns the one in force.
func (d *Dispatcher) disbelieve(epoch string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.belief.epoch == epoch {
		d.belief.epoch = ""
	}
}

// content is what Check asks for.
type content struct {
	epoch string // empty: incomplete
	run   string // of the server
}

// ofThisRun reports whether the epoch was filled in the server's present run.
func (c content) ofThisRun() bool { return c.epoch != "" && strings.HasSuffix(c.epoch, "."+c.run) }

// look asks what there is, and whether the server is fit to keep it.
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

// verify sees to it that connections that were made since it looked last have
// reached the run of the server that the content was filled in. Whatever came over
// a connection is only believed after that.
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

// condemn notes that the content of an epoch cannot be trusted.
func (d *Dispatcher) condemn(epoch string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.belief.epoch, d.belief.condemned = "", epoch
}

// Check reports whether the server answers and its content is complete. A process
// that believed in another epoch is told ErrDispatchLost once, so that it puts back
// what it remembers.
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

// Content names the content by its epoch.
func (d *Dispatcher) Content() string { return d.believed() }

// Reload begins to fill the content anew, or goes on with it for as long again. One
// who is told false asks Check until the other is done; one whose turn ran out is
// told false once.
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

// Loaded says that the content is complete.
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

// endTurn goes on with an epoch, or with none.
func (d *Dispatcher) endTurn(epoch string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.belief.epoch, d.belief.turn = epoch, ""
}
