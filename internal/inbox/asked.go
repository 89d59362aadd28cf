package inbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/inbox/desk"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

func (in *Inbox) brokerOf(s *deadletter.Source) Carrier {
	if s.Driver == deadletter.DriverHTTP {
		return nil
	}
	return in.opts.Carriers[s.Driver]
}

// waiting counts the messages of a source on its broker; 0 where the broker does not count or the queue does not exist,
// and for reports. Unavailable: the broker does not answer. Conflict: it refuses.
func (in *Inbox) waiting(ctx context.Context, s *deadletter.Source) (int64, error) {
	carrier := in.brokerOf(s)
	if carrier == nil {
		return 0, nil
	}
	n, err := carrier.Depth(ctx, s)
	if err != nil {
		code := task.Unavailable
		if errors.Is(err, ErrRefused) {
			code = task.Conflict
		}
		return 0, &task.Error{Code: code, Message: unasked(s, err), Err: err, Hint: "see tasker source test " + s.Name}
	}
	return max(n, 0), nil
}

func unasked(s *deadletter.Source, err error) string {
	return fmt.Sprintf("the broker of the source %s cannot be asked: %s", s.Name, desk.ItemMessage(err))
}

// levelTime bounds the time of a broker that is asked for a count.
const levelTime = 2 * time.Second
