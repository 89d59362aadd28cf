package deadletters

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/query"
)

// server is a Backend over HTTP. Its requests go through Client.Call, which bounds and authenticates them. The contract
// of each method is that of Backend.
type server struct{ client *tasker.Client }

// send sends a request with a body, and returns the response as a T.
func send[T any](ctx context.Context, s server, verb, method, path string, body any) (*T, error) {
	return answer[T](ctx, s, tasker.Request{Verb: verb, Method: method, Path: path, Body: body})
}

// fetch reads a T.
func fetch[T any](ctx context.Context, s server, verb, path string, q query.Values) (*T, error) {
	return answer[T](ctx, s, tasker.Request{Verb: verb, Method: http.MethodGet, Path: path, Query: url.Values(q)})
}

// answer sends a request, and returns the response as a T.
func answer[T any](ctx context.Context, s server, r tasker.Request) (*T, error) {
	out := new(T)
	if err := s.call(ctx, r, out); err != nil {
		return nil, err
	}
	return out, nil
}

// drop deletes an object. A DELETE has no body, so the act travels in the query.
func drop(ctx context.Context, s server, verb, path string, q query.Values, act Act) error {
	q.Set("actor", act.Actor)
	q.Set("reason", act.Reason)
	q.Set("if_match", act.IfMatch)
	r := tasker.Request{Verb: verb, Method: http.MethodDelete, Path: path, Query: url.Values(q)}
	return s.call(ctx, r, nil)
}

// call sends a request. It refuses a path with a segment that HTTP would resolve or drop, so that the request does not
// reach another route.
func (s server) call(ctx context.Context, r tasker.Request, out any) error {
	for _, segment := range strings.Split(r.Path, "/")[1:] {
		if segment == "" || segment == "." || segment == ".." {
			return tasker.Errorf(tasker.CodeNotFound, "nothing is named %q", segment)
		}
	}
	return s.client.Call(ctx, r, out)
}

// named appends a segment to a path.
func named(path, segment string) string { return path + "/" + url.PathEscape(segment) }

// inNamespace are the parameters that name a namespace.
func inNamespace(name string) query.Values {
	q := query.Values{}
	q.Set("namespace", name)
	return q
}

func (s server) Report(ctx context.Context, req ReportRequest) ([]Receipt, error) {
	out, err := send[struct {
		Results []Receipt `json:"results"`
	}](ctx, s, "report dead letters", http.MethodPost, "/v1/dead-letters", req)
	if err != nil {
		return nil, err
	}
	return out.Results, nil
}

func (s server) Groups(ctx context.Context, f GroupFilter) (*GroupPage, error) {
	q := inNamespace(f.Namespace)
	q.Set("state", string(f.State))
	q.Set("owner", f.Owner)
	q.Set("where", f.Where)
	q.Set("text", f.Text)
	if f.OpenOnly {
		q.Set("open_only", "true")
	}
	q.Set("order", f.Order)
	q.SetInt("limit", f.Limit)
	q.Set("cursor", f.Cursor)
	return fetch[GroupPage](ctx, s, "list groups", "/v1/groups", q)
}

func (s server) Group(ctx context.Context, id string) (*GroupStory, error) {
	return fetch[GroupStory](ctx, s, "get group", named("/v1/groups", id), nil)
}

func (s server) ChangeGroup(ctx context.Context, id string, change GroupChange) (*Group, error) {
	return send[Group](ctx, s, "change group", http.MethodPatch, named("/v1/groups", id), change)
}

func (s server) ChangeGroups(ctx context.Context, req GroupsChange) (*ChangedGroups, error) {
	return send[ChangedGroups](ctx, s, "change groups", http.MethodPatch, "/v1/groups", req)
}

func (s server) MergeGroups(ctx context.Context, into string, req MergeRequest) (*Group, error) {
	return send[Group](ctx, s, "merge groups", http.MethodPost, named("/v1/groups", into)+"/merge", req)
}

func (s server) UnmergeGroup(ctx context.Context, id string, act Act) (*Group, error) {
	return send[Group](ctx, s, "unmerge group", http.MethodPost, named("/v1/groups", id)+"/unmerge", act)
}

func (s server) PreviewRedrive(ctx context.Context, req RedriveRequest) (*Preview, error) {
	return send[Preview](ctx, s, "preview redrive", http.MethodPost, "/v1/redrives/preview", req)
}

// CreateRedrive implements RedriveBackend. After a lost response, look for the redrive before a second call: it would
// freeze another one.
func (s server) CreateRedrive(ctx context.Context, req RedriveRequest) (*Redrive, error) {
	return send[Redrive](ctx, s, "create redrive", http.MethodPost, "/v1/redrives", req)
}

func (s server) ActOnRedrive(ctx context.Context, id uuid.UUID, act RedriveAct) (*Redrive, error) {
	return send[Redrive](ctx, s, "act on redrive", http.MethodPatch, "/v1/redrives/"+id.String(), act)
}

func (s server) Redrive(ctx context.Context, id uuid.UUID) (*Redrive, error) {
	return fetch[Redrive](ctx, s, "get redrive", "/v1/redrives/"+id.String(), nil)
}

func (s server) Redrives(ctx context.Context, f RedriveFilter) (*RedrivePage, error) {
	q := inNamespace(f.Namespace)
	for _, state := range f.States {
		q.Add("state", string(state))
	}
	q.SetInt("limit", f.Limit)
	q.Set("cursor", f.Cursor)
	return fetch[RedrivePage](ctx, s, "list redrives", "/v1/redrives", q)
}

func (s server) RedriveItems(ctx context.Context, id uuid.UUID, f ItemFilter) (*ItemPage, error) {
	q := query.Values{}
	q.Set("state", string(f.State))
	q.SetInt("limit", f.Limit)
	q.Set("cursor", f.Cursor)
	return fetch[ItemPage](ctx, s, "list items of redrive", "/v1/redrives/"+id.String()+"/items", q)
}

func setBool(q query.Values, key string, value *bool) {
	if value != nil {
		q.Set(key, strconv.FormatBool(*value))
	}
}
