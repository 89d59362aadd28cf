package httpapi_test

import (
	"context"

	"github.com/taskerhq/tasker/waits"
)

// SendSignal makes the fake a waits.Backend.
func (f *fake) SendSignal(_ context.Context, req waits.SignalRequest) (*waits.Signal, error) {
	if err := f.note(req); err != nil {
		return nil, err
	}
	return &waits.Signal{SignalID: "e", Namespace: "default", Name: req.Name, Key: req.Key, ReceivedAt: noon,
		KeptUntil: noon, Taken: 2, Created: req.SignalID == ""}, nil
}
