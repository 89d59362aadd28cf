package tasker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Client submits tasks and reads their state. It is safe for concurrent use, and one Client per
// process is enough: it keeps connections and gathers concurrent submissions. It promotes the
// methods of its Backend and adds convenience.
type Client struct {
	Backend

	server *httpBackend // nil unless Dial made the Client
	coder  *coder       // nil without a codec
}

// NewClient returns a Client of b. Dial and embedded.Open call it.
func NewClient(b Backend) *Client { return &Client{Backend: b} }

// waitRound bounds one long poll of Wait. It stays below the idle timeout of common proxies,
// which is 60 seconds.
const waitRound = 30 * time.Second

// waitPatience bounds how long Wait retries while no server answers: long enough for the
// restart of a server, short enough that a caller learns of a real outage.
const waitPatience = time.Minute

// Wait blocks until the task is settled and returns it. A task in error comes without a Go
// error: check its State. Wait holds a request for a few seconds, then follows a stream of
// events, and goes on polling only where the server offers no stream. When the server becomes
// unavailable, Wait retries for a minute; when it is unavailable at the first call, Wait returns
// the error at once. To bound the wait, pass a ctx with a deadline; the error then wraps
// ctx.Err(). CodeNotFound: no such task.
func (c *Client) Wait(ctx context.Context, id uuid.UUID) (*Task, error) {
	early := 0 // consecutive answers before the end of the long poll
	var pause backoff
	w := c.newWatcher(id)
	for {
		begun := time.Now()
		t, err := w.look(ctx)
		switch {
		case err == nil:
			pause = backoff{}
		case ErrorCode(err) == CodeUnavailable && !errors.Is(err, errClosed) && !w.there.IsZero() &&
			time.Since(w.there) < waitPatience:
			if !pause.wait(ctx, err) {
				return nil, fmt.Errorf("wait for task %s: %w", id, ctx.Err())
			}
			continue
		default:
			return nil, err
		}
		if t.State.Settled() {
			return t, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("wait for task %s: %w", id, err)
		}
		if time.Since(begun) >= time.Second {
			early = 0
			continue
		}
		// A Backend that is closing does not hold the call: pause instead of spinning.
		early++
		sleep(ctx, earlyPause(early, 1000))
	}
}
