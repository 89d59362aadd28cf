package inbox

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/model/access"
)

// admit refuses an operation that the key of a request may not do, and limits its selection to the key's namespaces.
// Permissions come first: a key without them learns nothing about namespaces.
func (f *family) admit(ctx context.Context, req *deadletters.RedriveRequest) error {
	if err := mayOperate(ctx, req.Operation, &req.Selection, req.Edit); err != nil {
		return err
	}
	namespace, err := endpoint.NarrowNamespace(ctx, req.Selection.Namespace)
	if err != nil {
		return endpoint.Moved(err, "query.namespace", "/selection/namespace") // the selection is in the body here
	}
	req.Selection.Namespace = namespace
	return f.masker.RefuseRedrive(ctx, "", req)
}

// previewRedrive serves POST /v1/redrives/preview. It needs the permissions of the operation itself, so that a preview
// never shows more than its caller could do.
func (f *family) previewRedrive(ctx context.Context, _ *none, body *deadletters.RedriveRequest,
) (*deadletters.Preview, error) {
	if err := f.admit(ctx, body); err != nil {
		return nil, err
	}
	preview, err := f.backend.PreviewRedrive(ctx, *body)
	if err == nil && !seesContent(ctx) { // the differences of an edit show payloads
		for i := range preview.Samples {
			preview.Samples[i].Changes = nil
		}
	}
	return preview, err
}

// createRedrive serves POST /v1/redrives. The answer is always 201: each call freezes a selection of its own.
func (f *family) createRedrive(ctx context.Context, _ *none, body *deadletters.RedriveRequest,
) (endpoint.Answer[*deadletters.Redrive], error) {
	if err := f.admit(ctx, body); err != nil {
		return endpoint.Answer[*deadletters.Redrive]{}, err
	}
	redrive, err := f.backend.CreateRedrive(ctx, *body)
	if err != nil {
		return endpoint.Answer[*deadletters.Redrive]{}, err
	}
	return endpoint.Stored(true, "/v1/redrives/"+redrive.RedriveUUID.String(), redrive), nil
}

// RedrivePath names a redrive, to embed.
type RedrivePath struct {
	UUID uuid.UUID `path:"redrive_uuid" doc:"The redrive."`
}

func (p RedrivePath) key() uuid.UUID { return p.UUID }

type redriveAct struct {
	RedrivePath
	endpoint.Match
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
	return f.backend.ActOnRedrive(ctx, params.UUID, *body)
}

// redrives serves GET /v1/redrives. The states are checked here, because an enum in the schema of a list would refuse
// states that are separated by commas. An unknown state would match nothing, and look like an empty list.
func (f *family) redrives(ctx context.Context, filter *deadletters.RedriveFilter, _ *none,
) (*deadletters.RedrivePage, error) {
	filter.States = endpoint.SplitAll(filter.States)
	if len(filter.States) > endpoint.MaxRepeats {
		return nil, tasker.Errorf(tasker.CodeInvalid, "a parameter may repeat at most %d times", endpoint.MaxRepeats)
	}
	for _, state := range filter.States {
		if !state.Known() {
			return nil, endpoint.BadParameter("query.state",
				"must be draft, running, observing, paused, halted, done or cancelled")
		}
	}
	return narrowed(ctx, &filter.Namespace, f.backend.Redrives, filter)
}

type itemFilter struct {
	RedrivePath
	deadletters.ItemFilter
}

// redriveItems serves GET /v1/redrives/{redrive_uuid}/items. The cursor is the number of an item: a page stays valid
// while the redrive runs.
func (f *family) redriveItems(ctx context.Context, params *itemFilter, _ *none) (*deadletters.ItemPage, error) {
	return f.backend.RedriveItems(ctx, params.UUID, params.ItemFilter)
}

// ReplayPath names a replay, to embed.
type ReplayPath struct {
	UUID uuid.UUID `path:"replay_uuid" doc:"The replay."`
}

func (p ReplayPath) key() uuid.UUID { return p.UUID }

type replayAct struct {
	ReplayPath
	endpoint.Match
}

func (f *family) previewReplay(ctx context.Context, _ *none, body *deadletters.TopicReplayRequest,
) (*deadletters.ReplayPreview, error) {
	preview, err := reaching(ctx, body.Namespace, f.backend.PreviewReplay, body)
	if err == nil && !seesContent(ctx) {
		for i := range preview.Samples {
			preview.Samples[i].Key = ""
		}
	}
	return preview, err
}

// createReplay serves POST /v1/replays. The answer is always 201: each call writes down a range of its own.
func (f *family) createReplay(ctx context.Context, _ *none, body *deadletters.TopicReplayRequest,
) (endpoint.Answer[*deadletters.TopicReplay], error) {
	replay, err := reaching(ctx, body.Namespace, f.backend.CreateReplay, body)
	if err != nil {
		return endpoint.Answer[*deadletters.TopicReplay]{}, err
	}
	return endpoint.Stored(true, "/v1/replays/"+replay.ReplayUUID.String(), replay), nil
}

func (f *family) replays(ctx context.Context, filter *deadletters.ReplayFilter, _ *none,
) (*deadletters.ReplayPage, error) {
	return narrowed(ctx, &filter.Namespace, f.backend.Replays, filter)
}

// require refuses a request whose key has none of some permissions, with forbidden. what completes "the permission to".
// A server without keys admits everybody.
func require(ctx context.Context, what string, oneOf ...access.Permission) error {
	p := access.From(ctx)
	if p == nil || p.Can(oneOf...) {
		return nil
	}
	names := make([]string, len(oneOf))
	for i, permission := range oneOf {
		names[i] = string(permission)
	}
	return &tasker.Error{Code: tasker.CodeForbidden, Message: "the key " + p.Name + " lacks the permission to " + what,
		Hint: "the request needs " + strings.Join(names, " or ")}
}

// mayOperate refuses an operation on many that the key may not do. A key that may operate may run the failed steps of
// tasks again one by one, and so may do it to many. One that may give letters up may take that back.
func mayOperate(ctx context.Context, op deadletters.Operation, of *deadletters.Selection,
	edit *deadletters.Edit,
) error {
	oneOf := func(p access.Permission) []access.Permission {
		if of.Kind == deadletters.KindCase {
			return []access.Permission{p, access.Operate}
		}
		return []access.Permission{p}
	}
	needs, what := oneOf(access.DeadLettersRedrive), "redrive"
	if op != deadletters.OpRedrive {
		needs, what = oneOf(access.DeadLettersDiscard), "discard and restore"
	}
	if err := require(ctx, what, needs...); err != nil || edit == nil {
		return err
	}
	return require(ctx, "edit", oneOf(access.DeadLettersEdit)...)
}

// seesContent reports whether the key of a request may read letters, whose payloads may be confidential. It is asked
// where a route that needs less shows a letter or a part of one: the sample of a group, the differences of an edit.
func seesContent(ctx context.Context) bool {
	p := access.From(ctx)
	return p == nil || p.Can(access.DeadLettersRead)
}
