package deadletters

import (
	"context"
	"net/http"

	"github.com/google/uuid"
)

func (s server) PreviewReplay(ctx context.Context, req TopicReplayRequest) (*ReplayPreview, error) {
	return send[ReplayPreview](ctx, s, "preview replay", http.MethodPost, "/v1/replays/preview", req)
}

// CreateReplay implements ReplayBackend. After a lost response, look for the replay before a second call.
func (s server) CreateReplay(ctx context.Context, req TopicReplayRequest) (*TopicReplay, error) {
	return send[TopicReplay](ctx, s, "create replay", http.MethodPost, "/v1/replays", req)
}

func (s server) ActOnReplay(ctx context.Context, id uuid.UUID, act RedriveAct) (*TopicReplay, error) {
	return send[TopicReplay](ctx, s, "act on replay", http.MethodPatch, "/v1/replays/"+id.String(), act)
}

func (s server) Replay(ctx context.Context, id uuid.UUID) (*TopicReplay, error) {
	return fetch[TopicReplay](ctx, s, "get replay", "/v1/replays/"+id.String(), nil)
}

func (s server) Replays(ctx context.Context, f ReplayFilter) (*ReplayPage, error) {
	q := inNamespace(f.Namespace)
	q.SetInt("limit", f.Limit)
	q.Set("cursor", f.Cursor)
	return fetch[ReplayPage](ctx, s, "list replays", "/v1/replays", q)
}
