package inbox

import (
	"context"

	"github.com/taskerhq/tasker/deadletters"
	"github.com/taskerhq/tasker/internal/api/httpapi/endpoint"
	"github.com/taskerhq/tasker/internal/api/httpapi/masking"
	"github.com/taskerhq/tasker/internal/model/access"
)

type family struct {
	api     *endpoint.API
	exports chan struct{}       // one for each running export
	backend deadletters.Backend // nil if the store keeps no dead letters
	masker  *masking.Masker
}

// Routes adds the family to an API. With a nil backend every route answers unavailable.
func Routes(api *endpoint.API, backend deadletters.Backend, masker *masking.Masker) {
	f := &family{api: api, exports: make(chan struct{}, maxExports), backend: backend, masker: masker}
	f.letterRoutes()
	f.groupRoutes()
	f.redriveRoutes()
	f.replayRoutes()
	f.sourceRoutes()
	f.ruleRoutes()
	f.webhookRoutes()
}

// The words of the tables.
const (
	optional, creates, conflicts = endpoint.BodyOptional, endpoint.Creates, endpoint.Conflicts
	finds, limited, unmasked     = endpoint.Finds, endpoint.Limited, endpoint.Unmasked
)

var get, post, patch, del = endpoint.Get, endpoint.Post, endpoint.Patch, endpoint.Delete

func may(p ...access.Permission) []access.Permission { return p }

// letterRoutes: submitters and workers may report. An explanation needs the permission to read letters, since it quotes
// the error message. Only a discard requires a reason, which stays with the letter until the purge.
func (f *family) letterRoutes() {
	report, read := may(access.Submit, access.Work), may(access.DeadLettersRead)
	edit, discard := may(access.DeadLettersEdit), may(access.DeadLettersDiscard)

	add(f, post("/v1/dead-letters", "report-dead-letters", "Report messages that could not be processed", report,
		endpoint.Hot|endpoint.Letters|finds|limited|conflicts), f.report)
	add(f, get("/v1/dead-letters", "list-dead-letters", "List dead letters, newest first", read, 0), f.letters)
	endpoint.AddStream[deadletters.Letter](f.api, get("/v1/dead-letters/export", "export-dead-letters",
		"Export dead letters whole, one a line, newest first", read, limited), linesType, linesDoc, f.export)
	add(f, get("/v1/dead-letters/{letter_uuid}", "get-dead-letter", "Get a dead letter with its occurrences", read, 0),
		ask[LetterPath, none](f, backend.Letter))
	add(f, get("/v1/dead-letters/{letter_uuid}/explain", "explain-dead-letter",
		"Explain the state of a dead letter and what would change it", read, 0),
		ask[LetterPath, none](f, backend.ExplainLetter))
	add(f, patch("/v1/dead-letters/{letter_uuid}", "edit-dead-letter",
		"Change what is sent instead of a dead letter's original", edit, conflicts|unmasked), f.editLetter)
	add(f, post("/v1/dead-letters/{letter_uuid}/discard", "discard-dead-letter", "Give a dead letter up", discard,
		optional|conflicts), act[letterAct](f, backend.DiscardLetter))
	add(f, post("/v1/dead-letters/{letter_uuid}/restore", "restore-dead-letter", "Open a discarded dead letter again",
		discard, optional|conflicts), act[letterAct](f, backend.RestoreLetter))
}

// groupRoutes: groups hold cases and letters, so a permission for either suffices. A split needs the permission to
// change groups, not to save rules: it affects one group.
func (f *family) groupRoutes() {
	read, triage := may(access.Read, access.DeadLettersRead), may(access.Operate, access.DeadLettersRedrive)

	add(f, get("/v1/groups", "list-groups", "List groups of failures of one cause", read, 0), f.groups)
	add(f, get("/v1/groups/{group_id}", "get-group", "Get a group with its thread and what its failures have in common",
		read, 0), f.group)
	add(f, patch("/v1/groups/{group_id}", "change-group", "Acknowledge, resolve, ignore, reopen, assign or annotate a "+
		"group", triage, conflicts), act[groupAct](f, backend.ChangeGroup))
	add(f, patch("/v1/groups", "change-groups", "Change many groups alike, named or selected by a filter", triage,
		conflicts), f.changeGroups)
	add(f, post("/v1/groups/{group_id}/merge", "merge-groups", "Make a group show the failures of others as its own",
		triage, conflicts), act[groupAct](f, backend.MergeGroups))
	add(f, post("/v1/groups/{group_id}/unmerge", "unmerge-group", "Take a merged group out again", triage,
		optional|conflicts), act[groupAct](f, backend.UnmergeGroup))
	add(f, post("/v1/groups/{group_id}/split", "split-group", "Divide a group by a rule within it", triage,
		conflicts|limited), act[groupAct](f, backend.SplitGroup))
	add(f, post("/v1/groups/{group_id}/unsplit", "unsplit-group", "Undo the split that made a group", triage,
		optional|conflicts), act[groupAct](f, backend.UnsplitGroup))
}

// redriveRoutes: these are the least permissions of any operation; redrives.go has the rest. The explanation of a
// redrive names no letter.
func (f *family) redriveRoutes() {
	read := may(access.Read, access.DeadLettersRead)
	redrive := may(access.DeadLettersRedrive, access.DeadLettersDiscard, access.Operate)

	add(f, post("/v1/redrives/preview", "preview-redrive", "Show what an operation on many letters and cases would do",
		redrive, finds|limited|conflicts|unmasked), f.previewRedrive)
	addStored(f, post("/v1/redrives", "create-redrive", "Freeze a selection, to act on it in waves", redrive,
		creates|conflicts|finds|limited|unmasked), f.createRedrive)
	add(f, get("/v1/redrives", "list-redrives", "List redrives, newest first, without the counts of their items", read,
		0), f.redrives)
	add(f, get("/v1/redrives/{redrive_uuid}", "get-redrive", "Get a redrive and its progress", read, 0),
		ask[RedrivePath, none](f, backend.Redrive))
	add(f, get("/v1/redrives/{redrive_uuid}/explain", "explain-redrive",
		"Explain the state of a redrive and what would change it", read, 0),
		ask[RedrivePath, none](f, backend.ExplainRedrive))
	add(f, patch("/v1/redrives/{redrive_uuid}", "act-on-redrive", "Start, pause, resume or cancel a redrive", redrive,
		conflicts), f.actOnRedrive)
	add(f, get("/v1/redrives/{redrive_uuid}/items", "list-redrive-items", "List the items of a redrive with their results",
		read, 0), f.redriveItems)
}

// replayRoutes need the permission to redrive: a replay also makes messages run again.
func (f *family) replayRoutes() {
	read, redrive := may(access.Read, access.DeadLettersRead), may(access.DeadLettersRedrive)

	add(f, post("/v1/replays/preview", "preview-replay", "Show what a replay of a range of a topic would do", redrive,
		finds|limited|conflicts), f.previewReplay)
	addStored(f, post("/v1/replays", "create-replay", "Read a range of a topic again, into the inbox or as tasks", redrive,
		creates|conflicts|finds|limited), f.createReplay)
	add(f, get("/v1/replays", "list-replays", "List replays, newest first", read, 0), f.replays)
	add(f, get("/v1/replays/{replay_uuid}", "get-replay", "Get a replay and its progress", read, 0),
		ask[ReplayPath, none](f, backend.Replay))
	add(f, patch("/v1/replays/{replay_uuid}", "act-on-replay", "Start, pause, resume or cancel a replay", redrive,
		conflicts), act[replayAct](f, backend.ActOnReplay))
}

// sourceRoutes: changing a source decides where this server connects to, so it has its own permission. A test of a
// broker that does not answer is a 200 with the state lost.
func (f *family) sourceRoutes() {
	read, admin := may(access.Read, access.DeadLettersRead, access.SourcesAdmin), may(access.SourcesAdmin)

	add(f, get("/v1/sources", "list-sources", "List sources of dead letters and how they stand", read, 0),
		list(f, backend.Sources, func(l []deadletters.SourceStatus) sourceList { return sourceList{l} }))
	addStored(f, post("/v1/sources", "save-source", "Add or change a source of dead letters", admin, creates|conflicts),
		f.saveSource)
	add(f, get("/v1/sources/{namespace}/{name}", "get-source", "Get a source and the policies of its letters", read, 0),
		ask[SourcePath, none](f, byName(backend.Source)))
	add(f, del("/v1/sources/{namespace}/{name}", "remove-source", "Remove a source; its letters stay", admin, conflicts),
		drop(f, backend.DropSource))
	add(f, post("/v1/sources/{namespace}/{name}/test", "test-source", "Connect to the broker of a source once", admin,
		optional), ask[SourcePath, endpoint.Nothing](f, byName(backend.TestSource)))
	add(f, post("/v1/sources/{namespace}/{name}/pause", "pause-source", "Stop reading a source", admin,
		optional|conflicts), act[sourceAct](f, pausing(true)))
	add(f, post("/v1/sources/{namespace}/{name}/resume", "resume-source", "Continue to read a source", admin,
		optional|conflicts), act[sourceAct](f, pausing(false)))

	add(f, get("/v1/policies", "list-policies", "List policies by which letters are sent back", read, 0),
		list(f, backend.Policies, func(l []deadletters.Policy) policyList { return policyList{l} }))
	addStored(f, post("/v1/policies", "save-policy", "Add or change a policy", admin, creates|conflicts|finds),
		f.savePolicy)
	add(f, del("/v1/policies", "remove-policy", "Remove a policy", admin, conflicts|finds), f.dropPolicy)
}

// ruleRoutes: reading needs the permission for reading sources; changes need sources:admin, because a rule affects
// every program of its namespace. Removed rules are found, since their groups still name them.
func (f *family) ruleRoutes() {
	read, admin := may(access.Read, access.DeadLettersRead, access.SourcesAdmin), may(access.SourcesAdmin)

	add(f, get("/v1/rules", "list-rules", "List rules that put failures into groups, in the order in which they are tried",
		read, 0), list(f, backend.Rules, func(l []deadletters.SavedRule) ruleList { return ruleList{l} }))
	addStored(f, post("/v1/rules", "save-rule", "Add a rule, or a new version of one", admin, creates|conflicts|limited),
		f.saveRule)
	add(f, post("/v1/rules/test", "test-rule", "Show what a rule would decide about a failure or a group", admin,
		finds), f.testRule)
	add(f, get("/v1/rules/{namespace}/{name}", "get-rule", "Get a rule with its versions", read, 0),
		ask[SourcePath, none](f, byName(backend.Rule)))
	add(f, del("/v1/rules/{namespace}/{name}", "remove-rule", "Take a rule out of force; its groups and versions stay",
		admin, conflicts), drop(f, backend.DropRule))
}

// webhookRoutes need admin: webhooks receive events of all namespaces. A test of a failing webhook is a 200 that says
// so.
func (f *family) webhookRoutes() {
	admin := may(access.Admin)
	add(f, get("/v1/webhooks", "list-webhooks", "List the configured webhooks, without their secrets", admin, 0),
		f.webhooks)
	add(f, post("/v1/webhooks/{name}/test", "test-webhook", "Send a signed test event to a webhook, once", admin,
		optional), ask[WebhookPath, endpoint.Nothing](f, backend.TestWebhook))
}

func add[P, B, R any](f *family, e endpoint.Endpoint, h handler[P, B, R]) {
	endpoint.AddLetters(f.api, f.backend != nil, e, h)
}

func addStored[P, B, R any](f *family, e endpoint.Endpoint,
	h func(ctx context.Context, params *P, body *B) (endpoint.Answer[R], error),
) {
	endpoint.AddStoredLetters(f.api, f.backend != nil, e, h)
}
