//go:build unix

package letters_test

import (
	"context"
	"fmt"
	"net/rpc"
	"os"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// remoteDriver is the driver that a node has for the bridge.
type remoteDriver struct {
	driver.Basic
	client *rpc.Client
}

func dial(_ context.Context, url string) (driver.Driver, error) {
	c, err := rpc.Dial("tcp", url)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", driver.ErrLost, err)
	}
	d := &remoteDriver{client: c}
	return d, d.call(context.Background(), "Hello", os.Getenv("CRASH_NODE"), new(bool))
}

// call calls the bridge. Without an answer the connection is lost.
func (d *remoteDriver) call(ctx context.Context, method string, args, reply any) error {
	call := d.client.Go("Broker."+method, args, reply, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
		if call.Error != nil {
			return fmt.Errorf("%w: %w", driver.ErrLost, call.Error)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *remoteDriver) Open(ctx context.Context, queue string) (driver.Receiver, error) {
	var o Opened
	if err := d.call(ctx, "Open", queue, &o); err != nil {
		return nil, err
	}
	if err := o.Fault.err(); err != nil {
		return nil, err
	}
	return &remoteReceiver{driver: d, no: o.Receiver}, nil
}

func (d *remoteDriver) Send(ctx context.Context, target string, messages []driver.Message, _ driver.Limits) []error {
	args := Send{Target: target}
	for _, m := range messages {
		args.Messages = append(args.Messages, Message{Key: m.Key, Payload: m.Payload, Headers: m.Headers,
			MessageID: m.MessageID})
	}
	var faults []Fault
	if err := d.call(ctx, "Send", args, &faults); err != nil {
		return driver.Fail(len(messages), fmt.Errorf("%w: %w", driver.ErrUncertain, err))
	}
	errs := make([]error, len(messages))
	for i, f := range faults {
		errs[i] = f.err()
	}
	return errs
}

func (d *remoteDriver) Stat(ctx context.Context, queue string) (exists bool, depth int64, err error) {
	var s Stat
	if err := d.call(ctx, "Stat", queue, &s); err != nil {
		return false, 0, err
	}
	return s.Exists, s.Depth, s.Fault.err()
}

func (d *remoteDriver) Close() error {
	_ = d.client.Close() // it may be closed already
	return nil
}

type remoteReceiver struct {
	driver.BasicReceiver
	driver *remoteDriver
	no     int
}

// Receive waits for the answer of each call, so that no message is lost when ctx ends.
func (r *remoteReceiver) Receive(ctx context.Context, max int) ([]driver.Message, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var got Received
		if err := r.driver.call(context.WithoutCancel(ctx), "Receive", Receive{r.no, max}, &got); err != nil {
			return nil, err
		}
		if err := got.Fault.err(); err != nil {
			return nil, err
		}
		var out []driver.Message
		for _, m := range got.Messages {
			out = append(out, driver.Message{Position: m.Position, Origin: m.Origin, MessageID: m.MessageID, Key: m.Key,
				Payload: m.Payload, Headers: m.Headers, Time: m.Time, Redelivered: m.Redelivered, Receipt: m.ID})
		}
		if len(out) > 0 {
			return out, nil
		}
	}
}

func (r *remoteReceiver) Ack(ctx context.Context, messages []driver.Message) error {
	return r.settle(ctx, messages, false)
}

func (r *remoteReceiver) Release(ctx context.Context, messages []driver.Message) error {
	return r.settle(ctx, messages, true)
}

func (r *remoteReceiver) settle(ctx context.Context, messages []driver.Message, release bool) error {
	args := Settle{Receiver: r.no, Release: release}
	for _, m := range messages {
		args.IDs = append(args.IDs, m.Receipt.(uint64))
	}
	var f Fault
	if err := r.driver.call(ctx, "Settle", args, &f); err != nil {
		return err
	}
	return f.err()
}

func (r *remoteReceiver) Close() error {
	_ = r.driver.call(context.Background(), "Close", r.no, new(bool)) // the end of the connection closes it, too
	return nil
}
