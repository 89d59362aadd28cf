package broker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/taskerhq/tasker/internal/broker"
	"github.com/taskerhq/tasker/internal/broker/driver"
)

// answers fails sends with these errors in turn; nil confirms.
type answers struct {
	driver.Driver
	errs []error
}

func (a *answers) Send(_ context.Context, _ string, messages []driver.Message, _ driver.Limits) []error {
	err := a.errs[0]
	a.errs = a.errs[1:]
	return driver.Fail(len(messages), err)
}

func (a *answers) Close() error { return nil }

// A send without an answer is retried where that is safe, and is never reported as unsent.
func TestRepeatableSend(t *testing.T) {
	lost := fmt.Errorf("%w: %w", driver.ErrRepeatable, driver.ErrLost)
	full := errors.New("there is no memory")
	for name, c := range map[string]struct {
		errs []error
		want string
	}{
		"Repeated":         {[]error{lost, full, nil}, "s"},
		"NeverAnswered":    {[]error{lost, lost, lost}, "u"},
		"ThenUnavailable":  {[]error{lost, full, full}, "u"},
		"ThenRefused":      {[]error{lost, driver.ErrRefused}, "u"},
		"SentLater":        {[]error{full, nil}, "s"},
		"Refused":          {[]error{full, driver.ErrRefused}, "f"},
		"NeverWritten":     {[]error{full, full, full}, "a"},
		"NotRepeatable":    {[]error{driver.ErrUncertain}, "u"},
		"LaterUncertain":   {[]error{full, driver.ErrUncertain}, "u"},
		"UntriedInBetween": {[]error{lost, driver.ErrUntried, nil}, "s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // pauses take no time
				d := &answers{errs: c.errs}
				target := broker.NewTarget(func(context.Context) (driver.Driver, error) { return d, nil },
					&broker.TargetOptions{Tries: 3})
				defer target.Close()
				results := target.Send(t.Context(), "q", keyed(1), never)
				if got := outcomes(t, results); got != c.want {
					t.Errorf("the outcome is %s, want %s", got, c.want)
				}
				if repeated := c.want == "s" && errors.Is(c.errs[0], driver.ErrRepeatable); results[0].Repeated != repeated {
					t.Errorf("repeated is %t, want %t", results[0].Repeated, repeated)
				}
				if len(d.errs) > 0 {
					t.Errorf("%d tries were left", len(d.errs))
				}
			})
		})
	}
}
