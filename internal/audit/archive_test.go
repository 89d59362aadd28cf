package audit_test

import (
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/audit"
	"github.com/taskerhq/tasker/internal/chain"
	"github.com/taskerhq/tasker/internal/task"
	"github.com/taskerhq/tasker/operate"
)

// TestAuditArchive: what was archived may be deleted, and nothing else; the chain goes on behind it.
func TestAuditArchive(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(r *rig) {
		r.add(3)
		r.seal()
		noted := r.sound().Head
		head, err := chain.ParseHead(noted)
		if err != nil {
			r.t.Fatal(err)
		}
		r.add(2)
		r.seal()
		wrong := head
		wrong.Hash[0]++
		for name, a := range map[string]audit.Archived{"Hash": {Head: wrong}, "Seq": {Head: chain.Head{Seq: 9}},
			"Actor": {Head: head, Actor: "system"}, "Reason": {Head: head, Reason: "\x00"}} {
			if err := r.trail.Archive(r.t.Context(), a); task.CodeOf(err) == "" {
				r.t.Errorf("%s: archived", name)
			}
		}
		if n, _, err := r.trail.Drop(r.t.Context()); n != 0 || err != nil {
			r.t.Errorf("deleted %d acts that are not archived, %v", n, err)
		}

		a := audit.Archived{Head: head, Acts: 3, File: "/var/old.jsonl", Actor: "ann", Reason: "a year is over"}
		if err := r.trail.Archive(r.t.Context(), a); err != nil {
			r.t.Fatal(err)
		}
		if got := r.sound(); got.Links != 2 || got.Waiting != 1 { // before anything is deleted
			r.t.Errorf("the report is %+v", got)
		}
		if n, more, err := r.trail.Drop(r.t.Context()); n != 3 || more || err != nil {
			r.t.Errorf("deleted %d, %v, %v; want 3", n, more, err)
		}
		r.seal()
		got := r.verify(operate.VerifyOptions{Head: noted})
		if !got.OK || got.Links != 3 || got.Archived == nil || got.Archived.Head != noted || got.Archived.Acts != 3 {
			r.t.Errorf("the report is %+v", got)
		}
		if r.lite {
			if err := r.db.Close(); err != nil {
				r.t.Fatal(err)
			}
			defer r.reopen()
		}
		r.refused(`DELETE FROM tasker_acts WHERE id = 4`)
		r.refused(`DELETE FROM tasker_act_links WHERE seq = 4`)
		r.refused(`UPDATE tasker_act_archives SET seq = 5`)
		r.refused(`DELETE FROM tasker_act_archives`)
	})
}

// TestArchiveIsAnAct: the chain itself says who archived what, when and why.
func TestArchiveIsAnAct(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(r *rig) {
		r.add(1)
		r.seal()
		head, err := chain.ParseHead(r.sound().Head)
		if err != nil {
			r.t.Fatal(err)
		}
		if err := r.trail.Archive(r.t.Context(), audit.Archived{Head: head, Acts: 1, File: "f", Actor: "ann"}); err != nil {
			r.t.Fatal(err)
		}
		r.seal()
		page, err := r.trail.Links(r.t.Context(), 1, 10)
		if err != nil || len(page) != 1 {
			r.t.Fatalf("the chain is %+v, %v", page, err)
		}
		a := page[0].Act
		if a.Kind != audit.ActArchive || a.Actor != "ann" || !strings.Contains(string(a.Data), head.String()) {
			r.t.Errorf("the act is %+v", a)
		}
	})
}
