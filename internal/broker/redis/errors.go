package redis

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/rueidis"

	"github.com/taskerhq/tasker/internal/broker/driver"
)

// meanings are the answers of Redis, by their first word, that mean more than a failure for the moment. OOM, LOADING,
// MISCONF, CLUSTERDOWN and the like pass: nothing was done, and a later try may succeed.
var meanings = map[string]error{
	"NOPERM":    driver.ErrRefused,
	"WRONGTYPE": driver.ErrRefused,
	"CROSSSLOT": driver.ErrRefused,
	"NOSTREAM":  driver.ErrNotFound,
	// A replica, or a group that went with its stream: a new connection finds the master, and a new receiver makes the
	// group.
	"READONLY": driver.ErrLost,
	"NOGROUP":  driver.ErrLost,
	"NOAUTH":   driver.ErrLost,
}

// answered gives an answer that is an error its meaning.
func answered(text string) error {
	word, _, _ := strings.Cut(text, " ")
	if meaning := meanings[word]; meaning != nil {
		return fmt.Errorf("%w: %s", meaning, text)
	}
	return errors.New(text)
}

// classify gives an error of the client its meaning on the seam. Without an answer, only a failure to connect says that
// nothing was done.
func classify(err error) error {
	var op *net.OpError
	if err == nil {
		return nil
	}
	if answer, ok := rueidis.IsRedisErr(err); ok {
		return answered(answer.Error())
	}
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", driver.ErrLost, err)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%w: %w", driver.ErrLost, err)
	}
	return fmt.Errorf("%w: %w: %w", driver.ErrLost, driver.ErrUncertain, err)
}

// fail notes why messages from begin on were not sent, or perhaps were; those from end on were not begun, but what is
// for good is so for them, too. One that has a mark may be sent again, whatever happened to it.
func fail(errs []error, messages []driver.Message, begin, end int, err error) {
	unknown := errors.Is(err, driver.ErrUncertain) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled)
	for i := begin; i < len(errs); i++ {
		switch {
		case i >= end && !driver.Permanent(err):
			errs[i] = driver.ErrUntried
		case unknown && messages[i].SendID != "":
			errs[i] = fmt.Errorf("%w: %w", driver.ErrRepeatable, err)
		case unknown:
			errs[i] = fmt.Errorf("%w: %w", driver.ErrUncertain, err)
		default:
			errs[i] = err
		}
	}
}

// mark is what is remembered of a message that was sent, short and of one length; "" for none.
func mark(sendID string) string {
	if sendID == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(sendID))
	return string(sum[:16])
}
