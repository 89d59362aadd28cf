package scenario_test

import (
	"fmt"

	"github.com/taskerhq/tasker/internal/engine"
)

func (in *interpreter) signal(a *args) ([]string, error) {
	name, err := a.place(0, "the name")
	if err != nil {
		return nil, err
	}
	key, err := a.place(1, "the key")
	if err != nil {
		return nil, err
	}
	r := engine.SignalRequest{Name: name, Key: key}
	r.ID, r.Namespace = a.text("id"), a.text("namespace")
	if v, ok := a.get("payload"); ok {
		r.Payload = []byte(v)
	}
	s, created, err := in.engine.SendSignal(in.ctx, r)
	if err != nil {
		return nil, err
	}
	out := fmt.Sprintf("taken=%d until=%s", s.Taken, in.sinceStart(s.ExpiresAt))
	if !created {
		out += " known"
	}
	return []string{out}, nil
}
