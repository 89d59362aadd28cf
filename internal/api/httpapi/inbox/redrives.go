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

// admit checks permissions before namespaces: a key without them learns nothing about namespaces.
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

// createRedrive always answers 201: each call freezes a new selection.
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

// actOnRedrive first reads the redrive, whose operation decides about the permission. An edit was permitted when the
// redrive was created.
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

// redrives checks the states here: an enum in the schema of a list would refuse commas, and an unknown state would look
// like an empty list.
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
	return endpoint.Narrowed(ctx, &filter.Namespace, f.backend.Redrives, filter)
}

type itemFilter struct {
	RedrivePath
	deadletters.ItemFilter
}

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
	preview, err := endpoint.Reaching(ctx, body.Namespace, f.backend.PreviewReplay, body)
	if err == nil && !seesContent(ctx) {
		for i := range preview.Samples {
			preview.Samples[i].Key = ""
		}
	}
	return preview, err
}

// createReplay always answers 201: each call records a new range.
func (f *family) createReplay(ctx context.Context, _ *none, body *deadletters.TopicReplayRequest,
) (endpoint.Answer[*deadletters.TopicReplay], error) {
	replay, err := endpoint.Reaching(ctx, body.Namespace, f.backend.CreateReplay, body)
	if err != nil {
		return endpoint.Answer[*deadletters.TopicReplay]{}, err
	}
	return endpoint.Stored(true, "/v1/replays/"+replay.ReplayUUID.String(), replay), nil
}

func (f *family) replays(ctx context.Context, filter *deadletters.ReplayFilter, _ *none,
) (*deadletters.ReplayPage, error) {
	return endpoint.Narrowed(ctx, &filter.Namespace, f.backend.Replays, filter)
}

// require refuses a key with none of some permissions. what completes "the permission to". A server without keys admits
// everyone.
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

// mayOperate checks the key's permission for an operation on many. A key that may operate may run failed steps of many
// tasks again. A key that may give up letters may undo that.
func mayOperate(ctx context.Context, op deadletters.Operation, of *deadletters.Selection, edit *deadletters.Edit,
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

// seesContent reports whether the key may read letters, whose payloads may be confidential. Routes with weaker
// permissions use it before they show a part of a letter: the sample of a group, the differences of an edit.
func seesContent(ctx context.Context) bool {
	p := access.From(ctx)
	return p == nil || p.Can(access.DeadLettersRead)
}
