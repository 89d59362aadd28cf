package httpapi_test

import (
	"context"

	"github.com/taskerhq/tasker/waits"
)

func (f *fake) Approvals(_ context.Context, filter waits.ApprovalFilter) (*waits.ApprovalPage, error) {
	if err := f.note(filter); err != nil || filter.Cursor == "end" {
		return &waits.ApprovalPage{}, err
	}
	return &waits.ApprovalPage{NextCursor: "end", Approvals: []waits.Approval{{TaskUUID: taskID, StepUUID: taskID,
		Namespace: "default", Template: "refund", Step: "ask", Approval: "Refund?", Since: noon, Until: &noon}}}, nil
}

func (f *fake) Signals(_ context.Context, filter waits.SignalFilter) (*waits.SignalPage, error) {
	if err := f.note(filter); err != nil || filter.Cursor == "end" {
		return &waits.SignalPage{}, err
	}
	return &waits.SignalPage{NextCursor: "end", Signals: []waits.Signal{{SignalID: "e", Namespace: "default",
		Name: "paid", Key: "7", ReceivedAt: noon, KeptUntil: noon}}}, nil
}

func (f *fake) SendSignal(_ context.Context, req waits.SignalRequest) (*waits.Signal, error) {
	if err := f.note(req); err != nil {
		return nil, err
	}
	return &waits.Signal{SignalID: "e", Namespace: "default", Name: req.Name, Key: req.Key, ReceivedAt: noon,
		KeptUntil: noon, Taken: 2, Created: req.SignalID == ""}, nil
}
