package memory

import (
	"context"
	"strconv"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
)

// Dispatcher is one process's view of a Server.
type Dispatcher struct {
	s *Server
	// epoch is the one that this process relies on; 0 is none. condemned is one that it found incomplete, and may
	// replace. The server guards both.
	epoch, condemned int
	turn             bool // it relies on having the turn to fill the server
}

var _ engine.Dispatcher = (*Dispatcher)(nil)

// begin locks the server for a verb, which unlocks it unless an error is returned.
func (d *Dispatcher) begin(ctx context.Context, whileFilled bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.s.mu.Lock()
	err := d.ready(whileFilled)
	if err != nil {
		d.s.mu.Unlock()
	}
	return err
}

func (d *Dispatcher) ready(whileFilled bool) error {
	s := d.s
	switch {
	case s.down != nil:
		return s.down
	case s.full && s.filled == s.run && s.epoch == d.epoch:
		return nil
	case whileFilled && !s.full && s.beingFilled():
		return nil
	}
	d.disbelieve()
	return engine.ErrDispatchLost
}

// disbelieve forgets the epoch, so that the next Check learns the one in force.
func (d *Dispatcher) disbelieve() {
	if d.s.full && d.s.filled != d.s.run {
		d.condemned = d.s.epoch
	}
	d.epoch = 0
}

// Reload begins to fill the server again, or extends the caller's turn by hold. False: another process fills the
// server, and the caller calls Check until that is done; a caller whose turn ran out gets false once.
func (d *Dispatcher) Reload(ctx context.Context, hold time.Duration) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.down != nil:
		return false, s.down
	case d.turn:
		if d.turn = s.beingFilled() && s.filling.by == d; d.turn {
			s.filling.until = s.now().Add(hold)
		}
		return d.turn, nil
	case s.beingFilled():
		return false, nil
	case s.full && s.epoch != d.epoch && s.epoch != d.condemned:
		return false, nil // another process was quicker
	}
	s.empty()
	s.epoch++
	s.full, s.filling = false, &filling{by: d, until: s.now().Add(hold)}
	d.epoch, d.turn = 0, true
	return true, nil
}

// Loaded says that the server is complete.
func (d *Dispatcher) Loaded(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.down != nil:
		return s.down
	case !d.turn || !s.beingFilled() || s.filling.by != d:
		d.turn = false
		return engine.ErrDispatchLost
	}
	d.turn = false
	s.full, s.filled, s.filling = true, s.run, nil
	d.epoch = s.epoch
	return nil
}

// Check reports whether the server answers and is complete. A process that relied on another epoch gets ErrDispatchLost
// once, so that it restores its state.
func (d *Dispatcher) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s := d.s
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.down != nil:
		return s.down
	case !s.full || s.filled != s.run || d.epoch != 0 && d.epoch != s.epoch:
		d.disbelieve()
		return engine.ErrDispatchLost
	}
	d.epoch = s.epoch
	return nil
}

// Content names the content by its epoch.
func (d *Dispatcher) Content() string {
	d.s.mu.Lock()
	defer d.s.mu.Unlock()
	if d.epoch == 0 {
		return ""
	}
	return strconv.Itoa(d.epoch)
}

// Listen calls hear with the offers of other dispatchers of the server.
func (d *Dispatcher) Listen(ctx context.Context, hear func(routes map[int64]int)) error {
	s := d.s
	s.mu.Lock()
	if s.down != nil {
		s.mu.Unlock()
		return s.down
	}
	s.hear[d] = hear
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	delete(s.hear, d)
	s.mu.Unlock()
	return ctx.Err()
}

// Close does nothing: the content belongs to the server.
func (d *Dispatcher) Close() {}
