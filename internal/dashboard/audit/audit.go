// Package audit is the page about the audit trail: the acts of operators, and the check of their chain.
package audit

import (
	"context"
	"embed"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/dashboard/page"
	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
)

//go:embed *.html
var templates embed.FS

type pages struct {
	acts operate.Backend
	// checking allows one check at a time on this node: it reads the whole trail.
	checking sync.Mutex
}

// The API decides; these spare calls.
var reads = []access.Permission{access.Read}

// Add adds the pages to a site.
func Add(site *page.Site, api *tasker.Client) {
	p := &pages{acts: operate.Of(api)}
	f := site.Family(templates)
	page.AddList(f, page.ListPage[operate.AuditRecord, trail]{
		Page: page.Page[trail]{Path: "/audit", File: "audit.html", Section: "audit", Needs: reads},
		Rows: p.list, Show: show,
		Columns: []string{"no", "at", "kind", "actor", "authenticated", "key_name", "reason", "namespace", "template",
			"task_uuid", "step_uuid", "dlq_entry_uuid", "worker_id", "before", "after", "data"},
		Record: record,
	})
	page.Fragment(f, "POST /audit/verify", "audit.html", "verified", reads, p.verify)
}

type trail struct {
	Acts     []act
	Pager    page.Pager
	Filtered bool
}

type act struct {
	operate.AuditRecord
	Object object
}

type object struct {
	Kind, Name, URL string
}

const acts = 50

var filters = []string{"actor", "key", "kind", "task", "namespace", "after", "before"}

// list has the number of the last act as cursor.
func (p *pages) list(r *page.Request, cursor string) (out page.List[operate.AuditRecord], err error) {
	f := operate.AuditFilter{Actor: r.Query("actor"), KeyName: r.Query("key"), Kind: r.Query("kind"),
		Namespace: r.Namespace(), Limit: acts}
	if text := r.Query("task"); text != "" {
		if f.TaskUUID, err = uuid.Parse(text); err != nil {
			return out, page.BadField("task", "must be the UUID of a task")
		}
	}
	for name, to := range map[string]*time.Time{"after": &f.After, "before": &f.Before} {
		at, err := r.QueryTime(name)
		if err != nil {
			return out, err
		}
		if at != nil {
			*to = *at
		}
	}
	if cursor != "" {
		if f.Below, err = strconv.ParseInt(cursor, 10, 64); err != nil || f.Below < 1 {
			return out, page.BadField("cursor", "must be the number of an act")
		}
	}
	if out.Items, err = p.acts.Audit(r.Context(), f); err != nil {
		return out, err
	}
	if len(out.Items) == acts {
		out.Next = strconv.FormatInt(out.Items[acts-1].No, 10)
	}
	return out, nil
}

func show(r *page.Request, of page.List[operate.AuditRecord]) (trail, error) {
	out := trail{Pager: of.Pager(r)}
	for _, one := range of.Items {
		out.Acts = append(out.Acts, act{one, objectOf(&one)})
	}
	for _, name := range filters {
		out.Filtered = out.Filtered || r.Query(name) != ""
	}
	return out, nil
}

func objectOf(a *operate.AuditRecord) object {
	switch {
	case a.TaskUUID != uuid.Nil:
		return object{"task", a.TaskUUID.String(), "/tasks/" + a.TaskUUID.String()}
	case a.WorkerID != nil:
		return object{"worker", a.WorkerID.String(), "/workers"}
	case a.Kind == "register_template":
		return object{"template", a.Template, ""}
	}
	var data struct {
		Object string `json:"object"`
	}
	// Without a member "object" the act has none.
	if json.Unmarshal(a.Data, &data) != nil || data.Object == "" {
		return object{}
	}
	of, name := object{Name: data.Object}, url.PathEscape(data.Object)
	for _, known := range []struct{ in, kind, at string }{{"letter", "letter", "/letters/" + name},
		{"group", "group", "/inbox/" + name}, {"redrive", "redrive", "/redrives/" + name}, {"replay", "replay", ""},
		{"source", "source", "/sources/" + url.PathEscape(a.Namespace) + "/" + name}, {"policy", "policy", ""},
		{"rule", "rule", ""}} {
		if strings.Contains(a.Kind, known.in) {
			of.Kind, of.URL = known.kind, known.at
			break
		}
	}
	return of
}

func record(a operate.AuditRecord) []string {
	id := func(of *uuid.UUID) string {
		if of == nil || *of == uuid.Nil {
			return ""
		}
		return of.String()
	}
	return []string{strconv.FormatInt(a.No, 10), a.At.UTC().Format(time.RFC3339Nano), a.Kind, a.Actor,
		string(a.Authenticated), a.KeyName, a.Reason, a.Namespace, a.Template, id(&a.TaskUUID), id(a.StepUUID),
		id(a.CaseUUID), id(a.WorkerID), a.Before, a.After, string(a.Data)}
}

// checkFor bounds a check of the chain on a page; the command has no bound.
const checkFor = 10 * time.Second

type check struct {
	*operate.AuditReport
	Links   int64 // that were checked
	Took    time.Duration
	Partial bool // the time was up
}

func (p *pages) verify(r *page.Request) (out check, err error) {
	if !p.checking.TryLock() {
		return out, tasker.Errorf(tasker.CodeConflict, "somebody checks the trail at the moment: try again in %s",
			page.Span(checkFor))
	}
	defer p.checking.Unlock()
	ctx, cancel := context.WithTimeout(r.Context(), checkFor)
	defer cancel()
	began := time.Now()
	out.AuditReport, err = operate.VerifyAudit(ctx, p.acts,
		operate.VerifyOptions{Progress: func(links int64) { out.Links = links }})
	out.Took = time.Since(began)
	if err != nil && ctx.Err() != nil && r.Context().Err() == nil {
		out.Partial = true
		return out, nil
	}
	if err == nil {
		out.Links = out.AuditReport.Links
	}
	return out, err
}
