package engine_test

import (
	"errors"
	"testing"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/settings"
	"github.com/taskerhq/tasker/internal/model/task"
)

func TestTransportOfAWorker(t *testing.T) {
	t.Parallel()
	offered, _ := newEngine(t, engine.Options{Config: settings.Config{Delivery: settings.Delivery{Offered: true}}})
	plain, _ := newEngine(t, engine.Options{})
	for _, c := range []struct {
		name      string
		e         *engine.Engine
		transport task.Transport
		want      task.Code
	}{
		{"http", plain, task.TransportHTTP, ""},
		{"amqp, not offered", plain, task.TransportAMQP, task.Invalid},
		{"amqp", offered, task.TransportAMQP, ""},
		{"unknown", offered, "carrier pigeon", task.Invalid},
	} {
		w, err := c.e.Register(t.Context(), task.Worker{Transport: c.transport})
		if task.CodeOf(err) != c.want {
			t.Errorf("%s: registered with %v, want code %q", c.name, err, c.want)
		}
		if err != nil {
			var fault *task.Error
			if !errors.As(err, &fault) || len(fault.Problems) != 1 || fault.Problems[0].Location != "/transport" {
				t.Errorf("%s: %v, want one problem at /transport", c.name, err)
			}
			continue
		}
		want := ""
		if c.transport == task.TransportAMQP {
			want = "worker." + w.ID.String() + ".executions"
		}
		if got := c.e.QueueOf(w); got != want {
			t.Errorf("%s: queue %q, want %q", c.name, got, want)
		}
	}
}
