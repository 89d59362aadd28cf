package local

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/waits"
)

// SendSignal implements waits.Backend.
func (b *Backend) SendSignal(ctx context.Context, req waits.SignalRequest) (*waits.Signal, error) {
	s, created, err := b.engine.SendSignal(ctx, engine.SignalRequest{
		SignalName: task.SignalName{Namespace: req.Namespace, ID: req.SignalID}, Name: req.Name, Key: req.Key,
		Payload: req.Payload})
	if err != nil {
		return nil, ToError(err)
	}
	out := fromSignal(s)
	out.Created = created
	return &out, nil
}

func fromSignal(s *task.Signal) waits.Signal {
	return waits.Signal{SignalID: s.ID, Namespace: s.Namespace, Name: s.Name, Key: s.Key,
		ReceivedAt: s.ReceivedAt.Time(), KeptUntil: s.ExpiresAt.Time(), Taken: s.Taken}
}

const defaultSignals = 50

// Signals implements waits.Backend.
func (b *Backend) Signals(ctx context.Context, f waits.SignalFilter) (*waits.SignalPage, error) {
	var faults []tasker.Detail
	check := func(at, text string) {
		if fault := task.TextFault(text, task.MaxName); fault != "" {
			faults = append(faults, tasker.Detail{Location: "query." + at, Message: fault})
		}
	}
	check("name", f.Name)
	check("key", f.Key)
	for _, n := range f.Namespaces {
		check("namespace", n)
	}
	if len(faults) > 0 {
		return nil, badFilter(faults...)
	}
	filter := engine.SignalFilter{Namespaces: f.Namespaces, Name: f.Name, Key: f.Key, Since: task.FromFilter(f.After),
		Until: task.FromFilter(f.Before), Untaken: !f.IncludeTaken,
		Limit: cmp.Or(f.Limit, min(defaultSignals, b.engine.Config().Limits.PageItems))}
	var err error
	if filter.After, err = signalPosition(f.Cursor); err != nil {
		return nil, err
	}
	list, more, err := b.engine.Signals(ctx, filter)
	if err != nil {
		return nil, ToError(err)
	}
	page := &waits.SignalPage{Signals: make([]waits.Signal, len(list))}
	for i := range list {
		page.Signals[i] = fromSignal(&list[i])
	}
	if more {
		last := &list[len(list)-1]
		page.NextCursor, err = signalCursor(last)
	}
	return page, err
}

type signalPlace struct {
	At        int64  `json:"at"`
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
}

func signalPosition(cursor string) (at engine.SignalPosition, err error) {
	if cursor == "" {
		return at, nil
	}
	var p signalPlace
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || json.Unmarshal(raw, &p) != nil || p.At <= 0 || task.TextFault(p.Namespace, task.MaxName) != "" ||
		task.TextFault(p.ID, task.MaxName) != "" {
		return at, badFilter(tasker.Detail{Location: "cursor", Message: "is not a cursor of this list"})
	}
	return engine.SignalPosition{ExpiresAt: task.Instant(p.At),
		SignalName: task.SignalName{Namespace: p.Namespace, ID: p.ID}}, nil
}

func signalCursor(s *task.Signal) (string, error) {
	raw, err := json.Marshal(signalPlace{int64(s.ExpiresAt), s.Namespace, s.ID})
	if err != nil {
		return "", fmt.Errorf("encode cursor: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}
