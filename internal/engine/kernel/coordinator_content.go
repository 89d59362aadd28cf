package kernel

import (
	"context"
	"errors"
)

// content returns the name of complete content, or "". reached is false when the dispatcher does not answer. The
// error is that of ctx.
func (c *coordinator) content(ctx context.Context) (name string, reached bool, err error) {
	g := c.e.dispatch
	if g == nil {
		return "", false, nil
	}
	err = g.d.Check(ctx)
	if ctx.Err() != nil {
		return "", false, ctx.Err()
	}
	reached = err == nil || errors.Is(err, ErrDispatchLost)
	g.reachable.Store(reached)
	if err != nil {
		g.failed(err)
		return "", reached, nil
	}
	return g.d.Content(), true, nil
}

// catchUp sends missed removals, and returns "" if it cannot: content without them would hand out finished steps.
func (c *coordinator) catchUp(ctx context.Context, content string, there bool) (string, error) {
	g := c.e.dispatch
	if g.caughtUp.Load() {
		return content, nil
	}
	g.caughtUp.Store(true) // set first, so that later failures count
	known, err := g.catchUp(ctx)
	switch {
	case err != nil:
		return "", c.e.dispatch.fallBack(ctx, err)
	case !known:
		g.failed(errOthersOutOfReach)
		return "", nil
	}
	by := c.e.Now()
	if there || c.announced.Until <= by {
		by = by.Add(-sweepAge) // others hand out the steps in their caches of submitted steps
	}
	if err := c.e.dispatch.sweep(ctx, g.used.Load(), by); err != nil {
		g.caughtUp.Store(false)
		return "", err
	}
	g.flush()
	if !g.caughtUp.Load() {
		return "", nil
	}
	return content, nil
}

func (c *coordinator) explain(a membership) {
	g := c.e.dispatch
	if g == nil || c.own.Sees == "" && !a.natives() {
		return
	}
	why := errOthersOutOfReach
	if a.natives() {
		why = errOthersNative
	}
	if !a.term.There {
		g.setReason(why)
	}
}

// fill reports whether it is this process's turn.
func (c *coordinator) fill(ctx context.Context) (bool, error) {
	const loop = "dispatch_fill"
	mine, err := c.e.Cluster.Turn(ctx, loop, fillHold)
	if err != nil || !mine {
		return false, err
	}
	defer func() { _, _ = c.e.Cluster.Turn(context.WithoutCancel(ctx), loop, 0) }() // else the turn runs out
	// Another process may have filled it meanwhile.
	w, err := c.round(ctx)
	if err != nil || w != wantsFilling {
		return true, err
	}
	in := c.present()
	filled, err := c.e.dispatch.fill(ctx)
	if err != nil || !filled {
		return false, err
	}
	c.turn <- struct{}{}
	c.own.Filled, c.own.FilledIn = c.e.dispatch.d.Content(), in
	c.e.dispatch.caughtUp.Store(true)
	<-c.turn
	_, err = c.round(ctx)
	return true, err
}

func (c *coordinator) present() int64 {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	return c.own.Term
}
