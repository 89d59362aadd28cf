package inbox

import (
	"context"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/access"
	"github.com/taskerhq/tasker/internal/httpapi/endpoint"
)

// replayRoutes adds the routes of replays of topics. They need the permission to redrive: a replay puts messages to
// work again, as a redrive does.
func (f *family) replayRoutes() {
	const creates, conflicts, finds, limited = endpoint.Creates, endpoint.Conflicts, endpoint.Finds, endpoint.Limited
	get, post, patch := endpoint.Get, endpoint.Post, endpoint.Patch
	read, redrive := may(access.Read, access.DeadLettersRead), may(access.DeadLettersRedrive)

	add(f, post("/v1/replays/preview", "preview-replay", "Show what a replay of a range of a topic would do", redrive,
		finds|limited|conflicts), f.previewReplay)
	addStored(f, post("/v1/replays", "create-replay", "Read a range of a topic again, into the inbox or as tasks", redrive,
		creates|conflicts|finds|limited), f.createReplay)
	add(f, get("/v1/replays", "list-replays", "List replays, newest first", read, 0), f.replays)
	add(f, get("/v1/replays/{replay_uuid}", "get-replay", "Get a replay and its progress", read, 0), f.replay)
	add(f, patch("/v1/replays/{replay_uuid}", "act-on-replay", "Start, pause, resume or cancel a replay", redrive,
		conflicts), f.actOnReplay)
}

func (f *family) previewReplay(ctx context.Context, _ *endpoint.None, body *deadletters.TopicReplayRequest,
) (*deadletters.ReplayPreview, error) {
	if err := endpoint.ReachNamespace(ctx, body.Namespace, "/namespace"); err != nil {
		return nil, err
	}
	preview, err := f.backend.PreviewReplay(ctx, *body)
	if err != nil {
		return nil, err
	}
	if !seesContent(ctx) {
		for i := range preview.Samples {
			preview.Samples[i].Key = ""
		}
	}
	return preview, nil
}

// createReplay serves POST /v1/replays. The answer is always 201: each call writes down a range of its own.
func (f *family) createReplay(ctx context.Context, _ *endpoint.None, body *deadletters.TopicReplayRequest,
) (endpoint.Answer[*deadletters.TopicReplay], error) {
	var no endpoint.Answer[*deadletters.TopicReplay]
	if err := endpoint.ReachNamespace(ctx, body.Namespace, "/namespace"); err != nil {
		return no, err
	}
	replay, err := f.backend.CreateReplay(ctx, *body)
	if err != nil {
		return no, err
	}
	return endpoint.Stored(true, "/v1/replays/"+replay.ReplayUUID.String(), replay), nil
}

// ReplayPath names a replay, to embed.
type ReplayPath struct {
	UUID uuid.UUID `path:"replay_uuid" doc:"The replay."`
}

type replayAct struct {
	ReplayPath
	endpoint.Match
}

func (f *family) replay(ctx context.Context, params *ReplayPath, _ *endpoint.None) (*deadletters.TopicReplay, error) {
	return f.backend.Replay(ctx, params.UUID)
}

func (f *family) actOnReplay(ctx context.Context, params *replayAct, body *deadletters.RedriveAct,
) (*deadletters.TopicReplay, error) {
	return acted(ctx, params.Match, &body.Act, f.backend.ActOnReplay, params.UUID, body)
}

type replayFilter struct {
	Namespace string `query:"namespace" maxLength:"255"`
	endpoint.PageQuery
}

func (f *family) replays(ctx context.Context, params *replayFilter, _ *endpoint.None) (*deadletters.ReplayPage, error) {
	namespace, err := endpoint.NarrowNamespace(ctx, params.Namespace)
	if err != nil {
		return nil, err
	}
	return f.backend.Replays(ctx, deadletters.ReplayFilter{Namespace: namespace, Limit: params.Limit,
		Cursor: params.Cursor})
}
