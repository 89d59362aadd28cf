package driver

import (
	"context"
	"time"
)

// guarded hides the secrets in the errors of a driver. It is all that a driver can be, and its receivers all that a
// receiver can be: what the driver is not has an answer that says so.
type guarded struct {
	driver  Driver
	secrets secrets
}

func (g *guarded) Open(ctx context.Context, queue string) (Receiver, error) {
	r, err := g.driver.Open(ctx, queue)
	if err != nil {
		return nil, g.secrets.hide(err)
	}
	return &guardedReceiver{receiver: r, secrets: g.secrets}, nil
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

func (g *guarded) Close() error { return g.secrets.hide(g.driver.Close()) }

func (g *guarded) LogParts(ctx context.Context, queue string, since, before time.Time) ([]LogPart, error) {
	l, ok := g.driver.(Log)
	if !ok {
		return nil, ErrNoLog
	}
	parts, err := l.LogParts(ctx, queue, since, before)
	return parts, g.secrets.hide(err)
}

func (g *guarded) ReadLog(ctx context.Context, queue string, part LogPart, max int) ([]Entry, int64, error) {
	l, ok := g.driver.(Log)
	if !ok {
		return nil, part.From, ErrNoLog
	}
	entries, next, err := l.ReadLog(ctx, queue, part, max)
	return entries, next, g.secrets.hide(err)
}

func (g *guarded) Peek(ctx context.Context, queue string, max int) ([]Message, error) {
	p, ok := g.driver.(Peeker)
	if !ok {
		return nil, ErrNoPeek
	}
	messages, err := p.Peek(ctx, queue, max)
	return messages, g.secrets.hide(err)
}

func (g *guarded) Lag(ctx context.Context, queue string) ([]PartitionLag, error) {
	l, ok := g.driver.(Lagger)
	if !ok {
		return nil, nil
	}
	lags, err := l.Lag(ctx, queue)
	return lags, g.secrets.hide(err)
}

type guardedReceiver struct {
	receiver Receiver
	secrets  secrets
}

func (g *guardedReceiver) Receive(ctx context.Context, max int) ([]Message, error) {
	messages, err := g.receiver.Receive(ctx, max)
	return messages, g.secrets.hide(err)
}

func (g *guardedReceiver) Ack(ctx context.Context, messages []Message) error {
	return g.secrets.hide(g.receiver.Ack(ctx, messages))
}

func (g *guardedReceiver) Release(ctx context.Context, messages []Message) error {
	return g.secrets.hide(g.receiver.Release(ctx, messages))
}

func (g *guardedReceiver) Close() error { return g.secrets.hide(g.receiver.Close()) }

func (g *guardedReceiver) Held() int64 {
	if h, ok := g.receiver.(Holder); ok {
		return h.Held()
	}
	return -1
}

func (g *guardedReceiver) Keep(messages []Message) {
	if k, ok := g.receiver.(Keeper); ok {
		k.Keep(messages)
	}
}

// What a receiver holds that is no Leaver comes again once it closes.
func (g *guardedReceiver) Leave(ctx context.Context, messages []Message) (again bool, err error) {
	l, ok := g.receiver.(Leaver)
	if !ok {
		return true, nil
	}
	again, err = l.Leave(ctx, messages)
	return again, g.secrets.hide(err)
}

func (g *guardedReceiver) Return(ctx context.Context, most int) ([]Left, error) {
	r, ok := g.receiver.(Returner)
	if !ok {
		return nil, nil
	}
	left, err := r.Return(ctx, most)
	return left, g.secrets.hide(err)
}
