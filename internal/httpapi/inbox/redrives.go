package inbox

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/httpapi/endpoint"
)

// admit refuses an operation that the key of a request may not do, and limits its selection to the key's namespaces.
// Permissions come first: a key without them learns nothing about namespaces.
func admit(ctx context.Context, req *deadletters.RedriveRequest) error {
	if err := mayOperate(ctx, req.Operation, &req.Selection, req.Edit); err != nil {
		return err
	}
	namespace, err := endpoint.NarrowNamespace(ctx, req.Selection.Namespace)
	req.Selection.Namespace = namespace
	// The selection is in the body here.
	return endpoint.Moved(err, "query.namespace", "/selection/namespace")
}

// previewRedrive serves POST /v1/redrives/preview. It needs the permissions of the operation itself, so that a preview
// never shows more than its caller could do.
func (f *family) previewRedrive(ctx context.Context, _ *endpoint.None, body *deadletters.RedriveRequest,
) (*deadletters.Preview, error) {
	if err := admit(ctx, body); err != nil {
		return nil, err
	}
	if err := f.masker.RefuseRedrive(ctx, "", body); err != nil {
		return nil, err
	}
	preview, err := f.backend.PreviewRedrive(ctx, *body)
	if err != nil {
		return nil, err
	}
	if !seesContent(ctx) { // the differences of an edit show payloads
		for i := range preview.Samples {
			preview.Samples[i].Changes = nil
		}
	}
	return preview, nil
}

// createRedrive serves POST /v1/redrives. The answer is always 201: each call freezes a selection of its own.
func (f *family) createRedrive(ctx context.Context, _ *endpoint.None, body *deadletters.RedriveRequest,
) (endpoint.Answer[*deadletters.Redrive], error) {
	var no endpoint.Answer[*deadletters.Redrive]
	if err := admit(ctx, body); err != nil {
		return no, err
	}
	if err := f.masker.RefuseRedrive(ctx, "", body); err != nil {
		return no, err
	}
	redrive, err := f.backend.CreateRedrive(ctx, *body)
	if err != nil {
		return no, err
	}
	return endpoint.Stored(true, "/v1/redrives/"+redrive.RedriveUUID.String(), redrive), nil
}

// RedrivePath names a redrive, to embed.
type RedrivePath struct {
	UUID uuid.UUID `path:"redrive_uuid" doc:"The redrive."`
}

type redriveAct struct {
	RedrivePath
	endpoint.Match
}

// redrive serves GET /v1/redrives/{redrive_uuid}. It counts the items by their results, so it costs more than a row of
// the list.
func (f *family) redrive(ctx context.Context, params *RedrivePath, _ *endpoint.None) (*deadletters.Redrive, error) {
	return f.backend.Redrive(ctx, params.UUID)
}

// explainRedrive serves GET /v1/redrives/{redrive_uuid}/explain. The sentences name no letter, so the permission to
// read redrives suffices.
func (f *family) explainRedrive(ctx context.Context, params *RedrivePath, _ *endpoint.None,
) (*deadletters.StateExplanation, error) {
	return f.backend.ExplainRedrive(ctx, params.UUID)
}

// actOnRedrive serves PATCH /v1/redrives/{redrive_uuid}. It needs the permission for what the redrive does, which only
// the stored redrive tells; so the redrive is read first. An edit was permitted when the redrive was created.
func (f *family) actOnRedrive(ctx context.Context, params *redriveAct, body *deadletters.RedriveAct,
) (*deadletters.Redrive, error) {
	redrive, err := f.backend.Redrive(ctx, params.UUID)
	if err == nil {
		err = mayOperate(ctx, redrive.Operation, &redrive.Selection, nil)
	}
	if err != nil {
		return nil, err
	}
	return acted(ctx, params.Match, &body.Act, f.backend.ActOnRedrive, params.UUID, body)
}

type redriveFilter struct {
	Namespace string   `query:"namespace" maxLength:"255"`
	States    []string `query:"state,explode" doc:"States; repeatable."`
	endpoint.PageQuery
}

var redriveStates = map[deadletters.RedriveState]bool{
	deadletters.RedriveDraft: true, deadletters.RedriveRunning: true, deadletters.RedriveObserving: true,
	deadletters.RedrivePaused: true, deadletters.RedriveHalted: true, deadletters.RedriveDone: true,
	deadletters.RedriveCancelled: true,
}

// redrives serves GET /v1/redrives. The states are checked here, because an enum in the schema of a list would refuse
// states that are separated by commas.
func (f *family) redrives(ctx context.Context, params *redriveFilter, _ *endpoint.None,
) (*deadletters.RedrivePage, error) {
	filter := deadletters.RedriveFilter{Limit: params.Limit, Cursor: params.Cursor}
	words := endpoint.SplitAll(params.States)
	if len(words) > endpoint.MaxRepeats {
		return nil, tasker.Errorf(tasker.CodeInvalid, "a parameter may repeat at most %d times", endpoint.MaxRepeats)
	}
	for _, word := range words {
		state := deadletters.RedriveState(word)
		// An unknown state would match nothing, and look like an empty list.
		if !redriveStates[state] {
			return nil, endpoint.BadParameter("query.state",
				"must be draft, running, observing, paused, halted, done or cancelled")
		}
		filter.States = append(filter.States, state)
	}
	var err error
	if filter.Namespace, err = endpoint.NarrowNamespace(ctx, params.Namespace); err != nil {
		return nil, err
	}
	return f.backend.Redrives(ctx, filter)
}

type itemFilter struct {
	RedrivePath
	State string `query:"state" enum:"pending,sending,unknown,sent,returned,completed,failed,skipped"`
	endpoint.PageQuery
}

// redriveItems serves GET /v1/redrives/{redrive_uuid}/items. Items are in the order in which they are sent, and the
// cursor is their number: a page stays valid while the redrive runs.
func (f *family) redriveItems(ctx context.Context, params *itemFilter, _ *endpoint.None,
) (*deadletters.ItemPage, error) {
	return f.backend.RedriveItems(ctx, params.UUID, deadletters.ItemFilter{
		State: deadletters.ItemState(params.State), Limit: params.Limit, Cursor: params.Cursor})
}
