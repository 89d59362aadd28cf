package upkeep

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/taskerhq/tasker/internal/kit/clock"
)

const (
	// The pause before reopening a lost subscription doubles from the first to the last.
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
	// maxLook bounds one poll of other processes' changes, so that a hanging store does not stop polling.
	maxLook = 10 * time.Second
)

// listen receives other processes' events and reconnects without end; meanwhile polling finds the changes.
func (u *Upkeep) listen(ctx context.Context) error {
	next := firstPause
	for {
		began := u.engine.Now()
		err := u.engine.SubscribePeers(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if u.engine.Now().Sub(began) > lastPause {
			next = firstPause // it worked for a while
		}
		wait := next/2 + rand.N(next/2+1) // spreads the nodes
		u.log.Warn("lost the connection for events of other nodes; polling for their changes", "error", err,
			"again_in", wait)
		if err := clock.Sleep(ctx, wait); err != nil {
			return err
		}
		next = min(2*next, lastPause)
	}
}

// followDispatch wakes polls for steps offered by other nodes. While the connection is lost, polling finds them.
func (u *Upkeep) followDispatch(ctx context.Context) error {
	for {
		err := u.engine.FollowDispatch(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		u.log.Debug("lost the connection for events of the dispatcher", "error", err)
		if err := clock.Sleep(ctx, time.Second/2+rand.N(time.Second)); err != nil {
			return err
		}
	}
}

func (u *Upkeep) follow(ctx context.Context) error {
	tick := time.NewTicker(u.engine.Config().PollInterval)
	defer tick.Stop()
	failing := false
	for {
		look := u.engine.PollPeers
		select {
		case <-tick.C:
		case <-u.engine.PeerEvents():
			look = u.engine.HandlePeerEvents
		case <-ctx.Done():
			return ctx.Err()
		}
		err := bounded(ctx, look)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !failing {
			u.log.Error("cannot poll for changes of other nodes; retrying", "error", err)
		}
		failing = err != nil
		u.noticeOrder()
	}
}

func bounded(ctx context.Context, look func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, maxLook)
	defer cancel()
	return look(ctx)
}
