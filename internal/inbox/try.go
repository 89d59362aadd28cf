package inbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/intake"
)

// TestSource asks the broker whether a source's queue exists. Error is why it cannot be read. A source of reports is
// always fine.
func (in *Inbox) TestSource(ctx context.Context, namespace, name string) (*SourceStatus, error) {
	s, err := in.source(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	st, err := in.status(ctx, s)
	if err != nil || s.Driver == deadletter.DriverHTTP {
		return st, err
	}
	switch exists, err := in.opts.Carriers[s.Driver].Exists(ctx, s, s.Queue); {
	case err != nil:
		st.State, st.Error = "lost", err.Error()
	case !exists:
		st.State, st.Error = "lost", fmt.Sprintf("the broker has no queue %q", s.Queue)
	case s.Intake != nil:
		if st.Preview, err = in.previewIntake(ctx, s); err != nil {
			st.State, st.Error = "lost", err.Error()
		}
	}
	return st, nil
}

// previewIntake previews the first messages of a source and stores nothing; nil where the broker cannot show them. The
// error is the broker's.
func (in *Inbox) previewIntake(ctx context.Context, s *deadletter.Source) ([]IntakePreview, error) {
	arrivals, err := in.opts.Carriers[s.Driver].Peek(ctx, s, previewMessages)
	switch {
	case errors.Is(err, ErrNoPeek):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return in.previewed(ctx, in.takeIn(s, intake.NewPlan(s), arrivals)), nil
}

const previewMessages = 10
