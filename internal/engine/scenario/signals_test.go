package scenario_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
)

// signal sends a signal: NAME KEY [id=ID] [payload=JSON].
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

// handOver does at once what the engine does after the commit of a step that waits for a signal.
func (w *world) handOver() error {
	for deadline := time.Now().Add(patient); ; {
		if _, _, err := w.engine.HandOverSignals(w.ctx); err != nil {
			return err
		}
		fresh, err := w.store.WaitStore().AnyFresh(w.ctx)
		if err != nil || !fresh {
			return err
		}
		if time.Now().After(deadline) {
			return errors.New("signals or waits stay fresh")
		}
	}
}
