package audit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/engine/audit"
	"github.com/taskerhq/tasker/internal/kit/chain"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/operate"
)

func (r *rig) noted() (string, chain.Head) {
	r.t.Helper()
	r.add(3)
	r.seal()
	noted := r.sound().Head
	head, err := chain.ParseHead(noted)
	if err != nil {
		r.t.Fatal(err)
	}
	return noted, head
}

func TestAuditArchive(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(r *rig) {
		noted, head := r.noted()
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
		if got := r.sound(); got.Links != 5 || got.Waiting != 1 { // before the act is sealed and anything is deleted
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
		if a.Kind != chain.ActArchive || a.Actor != "ann" || !strings.Contains(string(a.Data), head.String()) {
			r.t.Errorf("the act is %+v", a)
		}
	})
}

// A forged archive row is found, with and without a noted head, and takes no act out of a later archive.
func TestForgedArchive(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]string{"Beginning": `seq <= 2`, "Everything": `seq > 0`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEveryDatabase(t, func(r *rig) {
				r.add(4)
				r.seal()
				noted := r.sound().Head
				forged := `INSERT INTO tasker_act_archives SELECT seq, hash, sealed_at, seq FROM tasker_act_links WHERE seq = `
				if name == "Beginning" {
					forged += "2"
				} else {
					forged += "4"
				}
				r.tamper(forged)
				if got := r.sound(); got.Links != 4 || got.Archived != nil {
					r.t.Errorf("a row that nothing says was archived counts: %+v", got)
				}
				r.tamper(`DELETE FROM tasker_acts WHERE id IN (SELECT act_id FROM tasker_act_links WHERE `+remove+`)`,
					`DELETE FROM tasker_act_links WHERE `+remove)
				for _, opts := range []operate.VerifyOptions{{}, {Head: noted}} {
					got := r.verify(opts)
					if got.OK || got.Fault.Finding != string(chain.ArchiveForged) {
						r.t.Errorf("%+v: the report is %+v, the fault %+v", opts, got, got.Fault)
					}
				}
			})
		})
	}
}

// Acts that a forged row calls archived are in no file.
func TestForgedArchiveKeepsActs(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(r *rig) {
		r.add(4)
		r.seal()
		head, err := chain.ParseHead(r.sound().Head)
		if err != nil {
			r.t.Fatal(err)
		}
		r.tamper(`INSERT INTO tasker_act_archives SELECT seq, hash, sealed_at, seq FROM tasker_act_links WHERE seq = 2`)
		err = r.trail.Archive(r.t.Context(), audit.Archived{Head: head, Acts: 2, File: "f", Actor: "ann"})
		if task.CodeOf(err) != task.Conflict {
			r.t.Errorf("archived without the acts of two links: %v", err)
		}
		if n, _, err := r.trail.Drop(r.t.Context()); n != 0 || err != nil {
			r.t.Errorf("deleted %d acts, %v", n, err)
		}
	})
}

// A verifier does not believe a server about an archive.
func TestArchiveNeedsAnActBehindIt(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(r *rig) {
		noted, head := r.noted()
		if err := r.trail.Archive(r.t.Context(), audit.Archived{Head: head, Acts: 3, File: "f", Actor: "ann"}); err != nil {
			r.t.Fatal(err)
		}
		if _, _, err := r.trail.Drop(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
		if got := r.verify(operate.VerifyOptions{Head: noted}); !got.OK || got.ArchiveAct != 4 || got.ArchivedBy != "ann" {
			r.t.Errorf("the report is %+v, %+v", got, got.Fault)
		}
		r.tamper(`DELETE FROM tasker_acts`, `DELETE FROM tasker_act_links`)
		got := r.verify(operate.VerifyOptions{Head: noted})
		r.wantFault(got, operate.AuditFault{Finding: string(chain.ArchiveForged), Seq: 3})
	})
}

func TestForgedArchivePermitsNothing(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(r *rig) {
		r.add(2)
		r.seal()
		act := `INSERT INTO tasker_acts (at, kind, actor, reason, from_state, to_state, data)
  SELECT 1, 'archive_audit', 'eve', '', '', '', ` + map[bool]string{true: `'{"head":"2-' || lower(hex(hash)) || '"}'`,
			false: `('{"head":"2-' || encode(hash, 'hex') || '"}')::json`}[r.lite] + ` FROM tasker_act_links WHERE seq = 2`
		if r.lite {
			if err := r.db.Close(); err != nil {
				r.t.Fatal(err)
			}
			defer r.reopen()
		}
		archive := `INSERT INTO tasker_act_archives SELECT seq, hash, sealed_at, seq FROM tasker_act_links WHERE seq = 2`
		for _, forged := range []string{archive, act} {
			db := r.raw()
			_, err := db.ExecContext(r.t.Context(), forged)
			if err = errors.Join(err, db.Close()); err != nil {
				r.t.Fatal(err)
			}
			r.refused(`DELETE FROM tasker_acts WHERE id = 1`)
			r.refused(`DELETE FROM tasker_act_links WHERE seq = 1`)
		}
	})
}
