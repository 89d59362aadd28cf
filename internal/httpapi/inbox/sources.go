package inbox

import (
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/httpapi/endpoint"
)

type namespaceQuery struct {
	Namespace string `query:"namespace" maxLength:"255"`
}

type sourceList struct {
	Sources []deadletters.SourceStatus `json:"sources"`
}

// sources serves GET /v1/sources. URLs have no passwords.
func (f *family) sources(ctx context.Context, params *namespaceQuery, _ *endpoint.None) (sourceList, error) {
	namespace, err := endpoint.NarrowNamespace(ctx, params.Namespace)
	if err != nil {
		return sourceList{}, err
	}
	list, err := f.backend.Sources(ctx, namespace)
	return sourceList{endpoint.List(list)}, err
}

// firstVersion is the ETag of an object that was just made: versions count from 1.
const firstVersion = "1"

// save saves an object of a namespace that the key of the request reaches, with the request's precondition.
func save[B, R any](ctx context.Context, namespace string, match *endpoint.Match, act *deadletters.Act,
	verb func(context.Context, B) (*R, error), body *B,
) (*R, error) {
	err := endpoint.ReachNamespace(ctx, namespace, "/namespace")
	if err == nil {
		act.IfMatch, err = match.With(act.IfMatch)
	}
	if err != nil {
		return nil, err
	}
	return verb(ctx, *body)
}

// saveSource serves POST /v1/sources: 201 for a new source, 200 for one whose settings were replaced. The settings are
// replaced whole. Nothing is connected: a broker that is down must not keep a source from being saved.
func (f *family) saveSource(ctx context.Context, params *endpoint.Match, body *deadletters.SourceRequest,
) (endpoint.Answer[*deadletters.Source], error) {
	saved, err := save(ctx, body.Namespace, params, &body.Act, f.backend.SaveSource, body)
	if err != nil {
		return endpoint.Answer[*deadletters.Source]{}, err
	}
	return endpoint.Stored(saved.ETag == firstVersion, "/v1/sources", saved), nil
}

// SourcePath names a source, to embed.
type SourcePath struct {
	Namespace string `path:"namespace" maxLength:"255"`
	Name      string `path:"name" maxLength:"255"`
}

// ActQuery are an act's actor, reason and precondition as a query, for requests without a body.
type ActQuery struct {
	Actor      string `query:"actor" maxLength:"255" doc:"Name recorded with the act. Defaults to the name of the API key."`
	Reason     string `query:"reason" maxLength:"1024" doc:"Reason of the act."`
	GivenMatch string `query:"if_match" maxLength:"1024" doc:"Same as the header If-Match."`
	endpoint.Match
}

// act returns the act, or why its precondition cannot be read. The precondition may be the header If-Match or the
// parameter if_match; two different ones are invalid.
func (q *ActQuery) act() (deadletters.Act, error) {
	match, err := q.With(q.GivenMatch)
	return deadletters.Act{Actor: q.Actor, Reason: q.Reason, IfMatch: match}, err
}

type sourceRemoval struct {
	SourcePath
	ActQuery
}

type removal struct {
	Removed bool `json:"removed"`
}

// dropSource serves DELETE /v1/sources/{namespace}/{name}. Its act is in the query, since many proxies drop the body of
// a DELETE.
func (f *family) dropSource(ctx context.Context, params *sourceRemoval, _ *endpoint.None) (removal, error) {
	act, err := params.act()
	if err == nil {
		err = f.backend.DropSource(ctx, params.Namespace, params.Name, act)
	}
	return removal{true}, err
}

// source serves GET /v1/sources/{namespace}/{name}: also the policies that decide about the letters of the source.
func (f *family) source(ctx context.Context, params *SourcePath, _ *endpoint.None) (*deadletters.SourceStatus, error) {
	return f.backend.Source(ctx, params.Namespace, params.Name)
}

// testSource serves POST /v1/sources/{namespace}/{name}/test. A broker that does not answer is a 200 with the state
// lost.
func (f *family) testSource(ctx context.Context, params *SourcePath, _ *endpoint.Nothing,
) (*deadletters.SourceStatus, error) {
	return f.backend.TestSource(ctx, params.Namespace, params.Name)
}

type sourceAct struct {
	SourcePath
	endpoint.Match
}

// pauseSource serves POST /v1/sources/{namespace}/{name}/pause and /resume. Pausing a source that is paused is a
// success, and a new version of it. A resumed one is read again within a second, by the node that has the turn.
func (f *family) pauseSource(paused bool,
) func(context.Context, *sourceAct, *deadletters.Act) (*deadletters.Source, error) {
	return func(ctx context.Context, params *sourceAct, body *deadletters.Act) (*deadletters.Source, error) {
		var err error
		if body.IfMatch, err = params.With(body.IfMatch); err != nil {
			return nil, err
		}
		return f.backend.PauseSource(ctx, params.Namespace, params.Name, paused, *body)
	}
}
