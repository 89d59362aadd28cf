package deadletters

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/kit/query"
)

// server is a Backend over HTTP. Its requests go through Client.Call, which bounds and authenticates them.
type server struct{ client *tasker.Client }

func send[T any](ctx context.Context, s server, verb, method, path string, body any) (*T, error) {
	return query.Ask[T](ctx, s, tasker.Request{Verb: verb, Method: method, Path: path, Body: body})
}

func fetch[T any](ctx context.Context, s server, verb, path string, q query.Values) (*T, error) {
	return query.Ask[T](ctx, s, tasker.Request{Verb: verb, Method: http.MethodGet, Path: path, Query: url.Values(q)})
}

type lists struct {
	Results  []Receipt      `json:"results"`
	Sources  []SourceStatus `json:"sources"`
	Policies []Policy       `json:"policies"`
	Rules    []SavedRule    `json:"rules"`
	Webhooks []Webhook      `json:"webhooks"`
}

func (s server) list(ctx context.Context, verb, path, namespace string) (out lists, err error) {
	err = s.Call(ctx, tasker.Request{Verb: verb, Method: http.MethodGet, Path: path,
		Query: url.Values(inNamespace(namespace))}, &out)
	return out, err
}

// drop deletes an object. A DELETE has no body, so the act is in the query.
func (s server) drop(ctx context.Context, verb, path string, q query.Values, act Act) error {
	q.Set("actor", act.Actor)
	q.Set("reason", act.Reason)
	q.Set("if_match", act.IfMatch)
	return s.Call(ctx, tasker.Request{Verb: verb, Method: http.MethodDelete, Path: path, Query: url.Values(q)}, nil)
}

// Call sends a request. It refuses a path segment that HTTP would resolve or drop, so that the request reaches no other
// route.
func (s server) Call(ctx context.Context, r tasker.Request, out any) error {
	for _, segment := range strings.Split(r.Path, "/")[1:] {
		if segment == "" || segment == "." || segment == ".." {
			return tasker.Errorf(tasker.CodeNotFound, "nothing is named %q", segment)
		}
	}
	return s.client.Call(ctx, r, out)
}

func named(path, segment string) string { return path + "/" + url.PathEscape(segment) }

func namedIn(path, namespace, name string) string {
	return named(named(path, cmp.Or(namespace, "default")), name)
}

func inNamespace(name string) query.Values {
	q := query.Values{}
	q.Set("namespace", name)
	return q
}

func (s server) Groups(ctx context.Context, f GroupFilter) (*GroupPage, error) {
	return fetch[GroupPage](ctx, s, "list groups", "/v1/groups", query.Of(f))
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

func (s server) SplitGroup(ctx context.Context, id string, req SplitRequest) (*SavedRule, error) {
	return send[SavedRule](ctx, s, "split group", http.MethodPost, named("/v1/groups", id)+"/split", req)
}

func (s server) UnsplitGroup(ctx context.Context, id string, act Act) (*Group, error) {
	return send[Group](ctx, s, "undo split", http.MethodPost, named("/v1/groups", id)+"/unsplit", act)
}

func (s server) PreviewRedrive(ctx context.Context, req RedriveRequest) (*Preview, error) {
	return send[Preview](ctx, s, "preview redrive", http.MethodPost, "/v1/redrives/preview", req)
}

// CreateRedrive implements RedriveBackend. After a lost response, look for the redrive before a second call, which
// would freeze another one.
func (s server) CreateRedrive(ctx context.Context, req RedriveRequest) (*Redrive, error) {
	return send[Redrive](ctx, s, "create redrive", http.MethodPost, "/v1/redrives", req)
}

func (s server) ActOnRedrive(ctx context.Context, id uuid.UUID, act RedriveAct) (*Redrive, error) {
	return send[Redrive](ctx, s, "act on redrive", http.MethodPatch, "/v1/redrives/"+id.String(), act)
}

func (s server) Redrive(ctx context.Context, id uuid.UUID) (*Redrive, error) {
	return fetch[Redrive](ctx, s, "get redrive", "/v1/redrives/"+id.String(), nil)
}

func (s server) ExplainRedrive(ctx context.Context, id uuid.UUID) (*StateExplanation, error) {
	return fetch[StateExplanation](ctx, s, "explain redrive", "/v1/redrives/"+id.String()+"/explain", nil)
}

func (s server) Redrives(ctx context.Context, f RedriveFilter) (*RedrivePage, error) {
	return fetch[RedrivePage](ctx, s, "list redrives", "/v1/redrives", query.Of(f))
}

func (s server) RedriveItems(ctx context.Context, id uuid.UUID, f ItemFilter) (*ItemPage, error) {
	return fetch[ItemPage](ctx, s, "list items of redrive", "/v1/redrives/"+id.String()+"/items", query.Of(f))
}

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
	return fetch[ReplayPage](ctx, s, "list replays", "/v1/replays", query.Of(f))
}

func (s server) SaveSource(ctx context.Context, req SourceRequest) (*Source, error) {
	return send[Source](ctx, s, "save source", http.MethodPost, "/v1/sources", req)
}

func (s server) DropSource(ctx context.Context, namespace, name string, act Act) error {
	return s.drop(ctx, "remove source", namedIn("/v1/sources", namespace, name), query.Values{}, act)
}

func (s server) Sources(ctx context.Context, namespace string) ([]SourceStatus, error) {
	out, err := s.list(ctx, "list sources", "/v1/sources", namespace)
	return out.Sources, err
}

func (s server) Source(ctx context.Context, namespace, name string) (*SourceStatus, error) {
	return fetch[SourceStatus](ctx, s, "get source", namedIn("/v1/sources", namespace, name), nil)
}

func (s server) TestSource(ctx context.Context, namespace, name string) (*SourceStatus, error) {
	path := namedIn("/v1/sources", namespace, name) + "/test"
	return send[SourceStatus](ctx, s, "test source", http.MethodPost, path, struct{}{})
}

func (s server) PauseSource(ctx context.Context, namespace, name string, paused bool, act Act) (*Source, error) {
	verb := "resume"
	if paused {
		verb = "pause"
	}
	return send[Source](ctx, s, verb+" source", http.MethodPost, namedIn("/v1/sources", namespace, name)+"/"+verb, act)
}

func (s server) SavePolicy(ctx context.Context, req PolicyRequest) (*Policy, error) {
	return send[Policy](ctx, s, "save policy", http.MethodPost, "/v1/policies", req)
}

func (s server) DropPolicy(ctx context.Context, namespace, source, origin string, act Act) error {
	q := inNamespace(namespace)
	q.Set("source", source)
	q.Set("origin", origin)
	return s.drop(ctx, "remove policy", "/v1/policies", q, act)
}

func (s server) Policies(ctx context.Context, namespace string) ([]Policy, error) {
	out, err := s.list(ctx, "list policies", "/v1/policies", namespace)
	return out.Policies, err
}

func (s server) SaveRule(ctx context.Context, req RuleRequest) (*SavedRule, error) {
	return send[SavedRule](ctx, s, "save rule", http.MethodPost, "/v1/rules", req)
}

func (s server) DropRule(ctx context.Context, namespace, name string, act Act) error {
	return s.drop(ctx, "remove rule", namedIn("/v1/rules", namespace, name), query.Values{}, act)
}

func (s server) Rules(ctx context.Context, namespace string) ([]SavedRule, error) {
	out, err := s.list(ctx, "list rules", "/v1/rules", namespace)
	return out.Rules, err
}

func (s server) Rule(ctx context.Context, namespace, name string) (*RuleStory, error) {
	return fetch[RuleStory](ctx, s, "get rule", namedIn("/v1/rules", namespace, name), nil)
}

func (s server) TestRule(ctx context.Context, test RuleTest) (*RuleTrial, error) {
	return send[RuleTrial](ctx, s, "test rule", http.MethodPost, "/v1/rules/test", test)
}

func (s server) Webhooks(ctx context.Context) ([]Webhook, error) {
	out, err := s.list(ctx, "list webhooks", "/v1/webhooks", "")
	return out.Webhooks, err
}

func (s server) TestWebhook(ctx context.Context, name string) (*WebhookAnswer, error) {
	return send[WebhookAnswer](ctx, s, "test webhook", http.MethodPost, named("/v1/webhooks", name)+"/test", nil)
}

type topicServer struct{ server }

const topicsPath = "/api/v1/dlq"

func (s topicServer) Stats(ctx context.Context, namespace string) (*MessageStats, error) {
	return fetch[MessageStats](ctx, s.server, "count messages", topicsPath+"/stats", inNamespace(namespace))
}

func (s topicServer) Topics(ctx context.Context, namespace string) ([]DeadTopic, error) {
	return query.List[DeadTopic](ctx, s.server, tasker.Request{Verb: "list topics", Method: http.MethodGet,
		Path: topicsPath + "/topics", Query: url.Values(inNamespace(namespace))})
}

func (s topicServer) Messages(ctx context.Context, f MessageFilter) (*MessagePage, error) {
	return fetch[MessagePage](ctx, s.server, "list messages", topicsPath+"/messages", query.Of(f))
}

func (s topicServer) Message(ctx context.Context, name MessageName) (*DeadMessage, error) {
	path := named(topicsPath+"/messages", name.EventID)
	return fetch[DeadMessage](ctx, s.server, "get message", path, query.Of(name))
}

func (s topicServer) Retry(ctx context.Context, req MessageRetry) (*MessageRetryAnswer, error) {
	return send[MessageRetryAnswer](ctx, s.server, "retry messages", http.MethodPost, topicsPath+"/retry", req)
}

func (s topicServer) Discard(ctx context.Context, name MessageName, act Act) (*MessageDone, error) {
	q := query.Of(name)
	q.Set("actor", act.Actor)
	q.Set("reason", act.Reason)
	return query.Ask[MessageDone](ctx, s.server, tasker.Request{Verb: "discard message", Method: http.MethodDelete,
		Path: named(topicsPath+"/messages", name.EventID), Query: url.Values(q)})
}

func (s topicServer) SavePolicy(ctx context.Context, policy TopicPolicy) (*MessageDone, error) {
	return send[MessageDone](ctx, s.server, "set policy of topic", http.MethodPost, topicsPath+"/retry-policy", policy)
}

func (s server) Report(ctx context.Context, req ReportRequest) ([]Receipt, error) {
	out, err := send[lists](ctx, s, "report dead letters", http.MethodPost, "/v1/dead-letters", req)
	if err != nil {
		return nil, err
	}
	return out.Results, nil
}

func (s server) Letters(ctx context.Context, f LetterFilter) (*LetterPage, error) {
	q := query.Of(f.Selection)
	q.SetInt("limit", f.Limit)
	q.Set("cursor", f.Cursor)
	return fetch[LetterPage](ctx, s, "list dead letters", "/v1/dead-letters", q)
}

func (s server) Letter(ctx context.Context, id uuid.UUID) (*LetterStory, error) {
	return fetch[LetterStory](ctx, s, "get dead letter", letterPath(id), nil)
}

func (s server) ExplainLetter(ctx context.Context, id uuid.UUID) (*StateExplanation, error) {
	return fetch[StateExplanation](ctx, s, "explain dead letter", letterPath(id)+"/explain", nil)
}

func letterPath(id uuid.UUID) string { return "/v1/dead-letters/" + id.String() }

func (s server) EditLetter(ctx context.Context, id uuid.UUID, edit LetterEdit) (*Letter, error) {
	return send[Letter](ctx, s, "edit dead letter", http.MethodPatch, letterPath(id), edit)
}

func (s server) DiscardLetter(ctx context.Context, id uuid.UUID, act Act) (*Letter, error) {
	return send[Letter](ctx, s, "discard dead letter", http.MethodPost, letterPath(id)+"/discard", act)
}

func (s server) RestoreLetter(ctx context.Context, id uuid.UUID, act Act) (*Letter, error) {
	return send[Letter](ctx, s, "restore dead letter", http.MethodPost, letterPath(id)+"/restore", act)
}

// maxLine bounds one line of an export: a wrong server must not fill the memory.
const maxLine = 64 << 20

// ExportLetters implements LetterBackend. The server sends a letter a line; the export is never in memory as a whole.
func (s server) ExportLetters(ctx context.Context, f LetterFilter) iter.Seq2[*Letter, error] {
	const verb = "export dead letters"
	return func(yield func(*Letter, error) bool) {
		body, err := s.client.Stream(ctx, tasker.Request{Verb: verb, Method: http.MethodGet,
			Path: "/v1/dead-letters/export", Query: url.Values(query.Of(f.Selection))}, "application/x-ndjson")
		if err != nil {
			yield(nil, err)
			return
		}
		defer body.Close()
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			letter := new(Letter)
			if err := json.Unmarshal(lines.Bytes(), letter); err != nil {
				yield(nil, exportError(verb, err))
				return
			}
			if !yield(letter, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, exportError(verb, err))
		}
	}
}

// exportError explains an early end: the server cuts the connection after an error.
func exportError(verb string, err error) error {
	e := tasker.Errorf(tasker.CodeUnavailable, "%s: the export broke off: %v", verb, err)
	if errors.Is(err, context.Canceled) || errors.Is(err, io.ErrUnexpectedEOF) {
		e.Message = verb + ": the export broke off"
	}
	e.Hint = "what was read so far is not the whole selection; start again"
	e.Err = err
	return e
}
