package deadletters

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker/internal/query"
)

// PreviewReplay implements ReplayBackend.
func (s server) PreviewReplay(ctx context.Context, req TopicReplayRequest) (*ReplayPreview, error) {
	return send[ReplayPreview](ctx, s, "preview replay", http.MethodPost, "/v1/replays/preview", req)
}

// CreateReplay implements ReplayBackend. After a lost response, look for the replay before a second call.
func (s server) CreateReplay(ctx context.Context, req TopicReplayRequest) (*TopicReplay, error) {
	return send[TopicReplay](ctx, s, "create replay", http.MethodPost, "/v1/replays", req)
}

// ActOnReplay implements ReplayBackend.
func (s server) ActOnReplay(ctx context.Context, id uuid.UUID, act RedriveAct) (*TopicReplay, error) {
	return send[TopicReplay](ctx, s, "act on replay", http.MethodPatch, "/v1/replays/"+id.String(), act)
}

// Replay implements ReplayBackend.
func (s server) Replay(ctx context.Context, id uuid.UUID) (*TopicReplay, error) {
	return fetch[TopicReplay](ctx, s, "get replay", "/v1/replays/"+id.String(), nil)
}

// Replays implements ReplayBackend.
func (s server) Replays(ctx context.Context, f ReplayFilter) (*ReplayPage, error) {
	q := query.Values{}
	q.Set("namespace", f.Namespace)
	q.SetInt("limit", f.Limit)
	q.Set("cursor", f.Cursor)
	return fetch[ReplayPage](ctx, s, "list replays", "/v1/replays", q)
}
