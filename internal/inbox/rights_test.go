package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/deadletters/model"
	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/inbox"
	"github.com/taskerhq/tasker/internal/inbox/redrive"
	"github.com/taskerhq/tasker/internal/inbox/seam"
	"github.com/taskerhq/tasker/internal/model/deadletter"
	"github.com/taskerhq/tasker/internal/model/task"
)

// withoutRights is a broker that answers, but refuses to count queues.
type withoutRights struct{ inbox.Carrier }

var errNoPermission = fmt.Errorf("%w: NOPERM this user has no permissions to run the 'llen' command", seam.ErrRefused)

func (withoutRights) Depth(context.Context, *deadletter.Source) (int64, error) {
	return 0, errNoPermission
}

func (withoutRights) Exists(_ context.Context, _ *deadletter.Source, to string) (bool, error) {
	if to == "lost" {
		return false, errors.New("no route to host")
	}
	return false, errNoPermission
}

// A refusal is reported in the broker's words, not as silence.
func TestBrokerThatRefuses(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(t *testing.T, r *rig) {
		_, err := r.Queues(t.Context(), "default")
		r.refused(err, task.Conflict)
		r.want("depths", err, "the broker of the source orders cannot be asked: "+errNoPermission.Error())
		r.source(deadletter.Source{Namespace: "default", Name: "orders", Driver: "memory", Queue: "orders.dlq",
			Targets: []string{"*"}})
		r.die(dead(1, "Timeout"))
		for to, want := range map[string]string{"": errNoPermission.Error(),
			"lost": "no route to host"} {
			p, err := r.PreviewRedrive(t.Context(), redrive.Request{Operation: model.OpRedrive, Destination: to,
				Selection: deadletter.Selection{Namespace: "default"}})
			if err != nil || len(p.Problems) != 1 || !strings.HasSuffix(p.Problems[0].Message, want) {
				t.Errorf("to %q: %v, %+v", to, err, p)
			}
		}
	}, func(o *node.Options) {
		o.Carriers = map[string]inbox.Carrier{"memory": withoutRights{o.Carriers["memory"]}}
	})
}
