package local

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/posturl"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/operate"
)

// Audit implements operate.Backend. A limit of 0 means the default, at most the server's page limit. Acts older than
// the field authentication have AuthenticationLost. All faults of the filter are reported together, each at its query
// parameter, before anything is read. A damaged record is shown without its unreadable parts, with the explanation in
// Damage.
func (b *Backend) Audit(ctx context.Context, f operate.AuditFilter) ([]operate.AuditRecord, error) {
	filter := engine.ActFilter{Task: toID(f.TaskUUID), Case: toID(f.CaseUUID), Worker: toID(f.WorkerID),
		Namespace: f.Namespace, Template: f.Template, Actor: f.Actor, Key: f.KeyName, Kind: f.Kind,
		After: task.FromFilter(f.After), Before: task.FromFilter(f.Before), Below: f.Below}
	var faults filterFaults
	faults.names("namespace", f.Namespace, "template", f.Template, "actor", f.Actor, "key_name", f.KeyName, "kind", f.Kind)
	faults.instant("after", filter.After)
	faults.instant("before", filter.Before)
	// 0 means from the newest record; the engine numbers records from 1.
	if f.Below < 0 {
		faults.add("below", "must be the number of a record, not "+strconv.FormatInt(f.Below, 10))
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	filter.Limit = b.page(f.Limit, defaultPage)
	acts, err := b.engine.Audit(ctx, filter)
	if err != nil {
		return nil, ToError(err)
	}
	return each(acts, toRecord), nil
}

func toRecord(stored *task.Act) operate.AuditRecord {
	a, damage := stored.Shown()
	// Acts on sources and redrives have targets and destinations; old ones may contain passwords.
	if a.TaskID.IsZero() && a.Template == "" {
		shown := posturl.RedactWithin(a.Data)
		a.Data, a.Opened = shown, a.Opened || !bytes.Equal(shown, a.Data)
	}
	// A record older than the field must not look authenticated.
	return operate.AuditRecord{Damage: damage, No: a.No, At: a.At.Time(), Kind: a.Kind, Actor: a.Actor,
		Authenticated: cmp.Or(operate.Authentication(a.Auth), operate.AuthenticationLost), KeyName: a.Key,
		Reason: a.Reason, TaskUUID: toUUID(a.TaskID), StepUUID: optionalUUID(a.StepID), CaseUUID: optionalUUID(a.CaseID),
		WorkerID: optionalUUID(a.WorkerID), Namespace: a.Namespace, Template: a.Template, Before: a.From, After: a.To,
		Data: a.Data, DataOmitted: a.DataOmitted, DataMasked: a.Opened}
}

// NoteKeyUse records the use of the request's key on this machine, by host name; without a key it does nothing. It is
// not part of tasker.Backend: the HTTP API calls it with the first request of a key on a day.
func (b *Backend) NoteKeyUse(ctx context.Context) error {
	node, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("name this node: %w", err)
	}
	return ToError(b.engine.NoteKeyUse(ctx, node))
}

// optionalUUID returns nil for the zero ID: public types omit an absent ID from JSON.
func optionalUUID(id task.ID) *uuid.UUID {
	if id.IsZero() {
		return nil
	}
	u := toUUID(id)
	return &u
}

// expectation reads an operator's expectation. match is a list of etags as in the header If-Match, with faults at
// /if_match. Empty state and match expect nothing; the engine compares the rest in the transaction of the act.
func expectation(state, match string) (task.Expectation, error) {
	x := task.Expectation{State: state}
	if fault := x.Match(match); fault != "" {
		return x, badExpectation("/if_match", fault)
	}
	return x, nil
}

// ofOne refuses etags, which fit one object, for a selection. An expected state may hold for many.
func ofOne(x task.Expectation) error {
	if len(x.Versions) > 0 {
		return badExpectation("/if_match", "is about one thing; for several use expected_state")
	}
	return nil
}

// badExpectation has CodeInvalid: an unreadable expectation must not count as none.
func badExpectation(at, fault string) error {
	e := tasker.Errorf(tasker.CodeInvalid, "nothing was changed: one problem")
	e.Details = []tasker.Detail{{Location: at, Message: fault}}
	return e
}
