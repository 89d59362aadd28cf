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

// pages are the pages over one API.
type pages struct {
	acts operate.Backend
	// checking is held by a check of the chain: one at a time at this node, because it reads the whole trail.
	checking sync.Mutex
}

// reads are permissions of viewers; the API decides.
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

// trail is what the list shows.
type trail struct {
	Acts     []act
	Pager    page.Pager
	Filtered bool
}

// act is one record, with the object that it is about.
type act struct {
	operate.AuditRecord
	Object object
}

// object is what an act is about, and the address of its page ("" if it has none).
type object struct {
	Kind, Name, URL string
}

// acts is the number of acts on one page.
const acts = 50

// filters are the parameters that select acts.
var filters = []string{"actor", "key", "kind", "task", "namespace", "after", "before"}

// list reads a page of the trail; a cursor is the number of the last act of the page before it.
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

// objectOf returns what an act is about. What is not about a task, a worker or a template is named in the data.
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
	// The data of an act is what it is: without a member "object" the act is about none.
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

// record is an act as a row of CSV.
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

// checkFor bounds a check of the chain on a page. The command has no bound.
const checkFor = 10 * time.Second

// check is the result of a check of the chain.
type check struct {
	*operate.AuditReport
	Links   int64 // that were checked
	Took    time.Duration
	Partial bool // the time was up
}

// verify checks the chain of the trail, for a bounded time.
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
