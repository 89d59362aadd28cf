package audit_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/api/local"
	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/engine/audit"
	"github.com/taskerhq/tasker/internal/model/task"
	"github.com/taskerhq/tasker/operate"
)

// One change with the triggers off must be the reported fault.
func TestAuditChainFindsTampering(t *testing.T) {
	t.Parallel()
	const insert = `INSERT INTO tasker_acts (id, at, kind, actor, reason, from_state, to_state) `
	cases := map[string]struct {
		statement, lite string // lite: on SQLite, if it differs
		want            operate.AuditFault
	}{
		"Changed": {statement: `UPDATE tasker_acts SET actor = 'eve' WHERE id = 4`,
			want: operate.AuditFault{Finding: "changed", Seq: 4, ActNo: 4}},
		"TimeChanged": {statement: `UPDATE tasker_acts SET at = at + 1 WHERE id = 10`,
			want: operate.AuditFault{Finding: "changed", Seq: 10, ActNo: 10}},
		"DataRemoved": {statement: `UPDATE tasker_acts SET data = NULL WHERE id = 7`,
			want: operate.AuditFault{Finding: "changed", Seq: 7, ActNo: 7}},
		"Removed": {statement: `DELETE FROM tasker_acts WHERE id = 1`,
			want: operate.AuditFault{Finding: "removed", Seq: 1, ActNo: 1}},
		"LastRemoved": {statement: `DELETE FROM tasker_acts WHERE id = 10`,
			want: operate.AuditFault{Finding: "removed", Seq: 10, ActNo: 10}},
		"Inserted": {statement: insert + `OVERRIDING SYSTEM VALUE VALUES (11, 1, 'cancel', 'eve', '', '', '')`,
			lite: insert + `VALUES (11, 1, 'cancel', 'eve', '', '', '')`,
			want: operate.AuditFault{Finding: "inserted", ActNo: 11}},
		"InsertedBefore": {statement: insert + `OVERRIDING SYSTEM VALUE VALUES (-3, 1, 'cancel', 'eve', '', '', '')`,
			lite: insert + `VALUES (-3, 1, 'cancel', 'eve', '', '', '')`,
			want: operate.AuditFault{Finding: "inserted", ActNo: -3}},
		"LinkRemoved": {statement: `DELETE FROM tasker_act_links WHERE seq = 5`,
			want: operate.AuditFault{Finding: "link_removed", Seq: 5}},
		"LinkAndActRemoved": {statement: `DELETE FROM tasker_act_links WHERE act_id IN (SELECT id FROM tasker_acts WHERE id = 5)`,
			want: operate.AuditFault{Finding: "link_removed", Seq: 5}},
		"LinkChanged": {statement: `UPDATE tasker_act_links SET sealed_at = 0 WHERE seq = 6`,
			want: operate.AuditFault{Finding: "link_changed", Seq: 6, ActNo: 6}},
		"FarTime": {statement: `UPDATE tasker_act_links SET sealed_at = 9223372036854775807 WHERE seq = 6`,
			want: operate.AuditFault{Finding: "link_changed", Seq: 6, ActNo: 6}},
		"LinkOfAnotherAct": {statement: `UPDATE tasker_act_links SET act_id = 99 WHERE seq = 3`,
			want: operate.AuditFault{Finding: "link_changed", Seq: 3, ActNo: 99}},
		"HashShortened": {statement: `UPDATE tasker_act_links SET hash = content WHERE seq = 3`,
			want: operate.AuditFault{Finding: "link_changed", Seq: 3, ActNo: 3}},
	}
	onEveryDatabase(t, func(r *rig) {
		r.add(10)
		r.seal()
		if got := r.sound(); got.Links != 10 || got.Waiting != 0 || got.SealedLate != 0 {
			r.t.Fatalf("the report is %+v", got)
		}
		r.snapshot()
		for name, tc := range cases {
			statement := tc.statement
			if r.lite && tc.lite != "" {
				statement = tc.lite
			}
			r.tamper(statement)
			r.seal() // must not hide it
			got := r.verify(operate.VerifyOptions{})
			if !r.isFault(got, tc.want) {
				r.t.Errorf("%s: the fault is %+v, want %+v", name, got.Fault, tc.want)
			}
			r.restore()
			r.sound()
		}
	})
}

func (r *rig) isFault(got *operate.AuditReport, want operate.AuditFault) bool {
	if got.OK || got.Fault == nil || got.Fault.Message == "" {
		return false
	}
	want.Message = got.Fault.Message
	return *got.Fault == want
}

func (r *rig) wantFault(got *operate.AuditReport, want operate.AuditFault) {
	r.t.Helper()
	if !r.isFault(got, want) {
		r.t.Errorf("the fault is %+v, want %+v", got.Fault, want)
	}
}

func TestAuditChainBeforeSealing(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(r *rig) {
		r.add(3)
		r.seal()
		r.add(2)
		if got := r.sound(); got.Links != 3 || got.Waiting != 2 {
			r.t.Errorf("the report is %+v", got)
		}
		r.tamper(`DELETE FROM tasker_acts WHERE id = 5`)
		if n := r.seal(); n != 1 {
			r.t.Errorf("sealed %d acts, want the one that exists", n)
		}
		r.wantFault(r.verify(operate.VerifyOptions{}), operate.AuditFault{Finding: "removed", ActNo: 5})
	})
}

func TestAuditHeads(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(r *rig) {
		empty := r.sound().Head
		r.add(2)
		r.seal()
		early := r.sound().Head
		r.add(3)
		r.seal()
		late := r.sound().Head
		for _, noted := range []string{empty, early, late} {
			if got := r.verify(operate.VerifyOptions{Head: noted}); !got.OK || got.Links != 5 {
				r.t.Errorf("head %s: %+v", noted, got.Fault)
			}
		}
		if got := r.verify(operate.VerifyOptions{From: early}); !got.OK || got.Links != 3 || got.Head != late {
			r.t.Errorf("from %s: %+v", early, got)
		}
		forged := early[:len(early)-1] + string("01"[early[len(early)-1]&1^1])
		if forged == early {
			forged = early[:len(early)-1] + "f"
		}
		for _, opts := range []operate.VerifyOptions{{Head: forged}, {From: forged}} {
			r.wantFault(r.verify(opts), operate.AuditFault{Finding: "head_missing", Seq: 2})
		}
		// the end is cut off without a trace
		r.tamper(`DELETE FROM tasker_act_links WHERE seq > 3`, `DELETE FROM tasker_acts WHERE id > 3`)
		if got := r.sound(); got.Links != 3 {
			r.t.Errorf("the report is %+v", got)
		}
		r.wantFault(r.verify(operate.VerifyOptions{Head: late}), operate.AuditFault{Finding: "head_missing", Seq: 5})
		_, err := operate.VerifyAudit(r.t.Context(), local.NewChain(r.trail), operate.VerifyOptions{Head: "5"})
		if err == nil {
			r.t.Error("a head without a hash is accepted")
		}
	})
}

func TestAuditChainIsKept(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(r *rig) {
		r.add(2)
		r.seal()
		statements := []string{`UPDATE tasker_act_links SET act_id = 7`, `DELETE FROM tasker_act_links`,
			`DELETE FROM tasker_acts`, `UPDATE tasker_acts SET actor = 'eve'`}
		if r.lite {
			statements = append(statements, `INSERT OR REPLACE INTO tasker_act_links SELECT seq, act_id, 0, content, hash
  FROM tasker_act_links`)
		} else {
			statements = append(statements, `TRUNCATE tasker_act_links`, `TRUNCATE tasker_acts`, `TRUNCATE tasker_act_archives`,
				`SET session_replication_role = replica; DELETE FROM tasker_act_links`)
		}
		if r.lite {
			if err := r.db.Close(); err != nil {
				r.t.Fatal(err)
			}
			defer r.reopen()
		}
		for _, s := range statements {
			r.refused(s)
		}
	})
}

// The lower number commits last, and is sealed behind the other. PostgreSQL only: SQLite has one writer.
func TestSealingOutOfOrder(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(r *rig) {
		if r.lite {
			return
		}
		added, committed := make(chan struct{}), make(chan struct{})
		var slow sync.WaitGroup
		slow.Go(func() {
			err := r.db.Write(r.t.Context(), func(ctx context.Context, tx engine.Tx) error {
				err := r.db.ActStore().AddActs(ctx, tx, []task.Act{{At: noon, Kind: "cancel", Actor: "slow"}})
				if err == nil { // a query, so that the act has its number
					_, err = r.db.Chain().Head(ctx, tx)
				}
				close(added)
				<-committed
				return err
			})
			if err != nil {
				r.t.Errorf("the slow transaction: %v", err)
			}
		})
		<-added
		r.add(2)
		if n := r.seal(); n != 2 {
			r.t.Errorf("sealed %d acts, want 2", n)
		}
		close(committed)
		slow.Wait()
		if n := r.seal(); n != 1 {
			r.t.Errorf("sealed %d acts, want the late one", n)
		}
		if got := r.sound(); got.Links != 3 {
			r.t.Errorf("the report is %+v", got)
		}
		page, err := r.trail.Links(r.t.Context(), 0, 10)
		if err != nil || page[2].Act == nil || page[2].Act.Actor != "slow" || page[2].Link.Act != 1 {
			r.t.Errorf("the chain is %+v, %v", page, err)
		}
	})
}

func TestSealingByMany(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(r *rig) {
		nodes := []database{r.db}
		if !r.lite {
			for range 2 {
				other := r.open()
				defer other.Close()
				nodes = append(nodes, other)
			}
		}
		const writers, each = 4, 25
		ctx, stop := context.WithCancel(r.t.Context())
		var acting, sealing sync.WaitGroup
		for _, db := range nodes {
			trail := audit.New(db, func() task.Instant { return noon }, 1<<20)
			sealing.Go(func() {
				for ctx.Err() == nil {
					_, _, _ = trail.Seal(ctx) // of two concurrent seals, one may fail
				}
			})
			for range writers {
				acting.Go(func() {
					for range each {
						err := db.Write(r.t.Context(), func(ctx context.Context, tx engine.Tx) error {
							return db.ActStore().AddActs(ctx, tx, []task.Act{{At: noon, Kind: "cancel", Actor: "a"},
								{At: noon, Kind: "cancel", Actor: "b", Data: []byte(`{}`)}})
						})
						if err != nil {
							r.t.Errorf("act: %v", err)
						}
					}
				})
			}
		}
		acting.Wait()
		stop()
		sealing.Wait()
		r.seal()
		if got := r.sound(); got.Links != int64(len(nodes)*writers*each*2) || got.Waiting != 0 {
			r.t.Errorf("the report is %+v", got)
		}
	})
}

func TestLargeActsAreSealed(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(r *rig) {
		large := []byte(`"` + strings.Repeat("x", 300<<10) + `"`)
		for range 8 {
			r.write(task.Act{At: noon, Kind: "edit_context", Actor: "a", Data: large},
				task.Act{At: noon, Kind: "edit_context", Actor: "b"})
		}
		r.seal()
		if got := r.sound(); got.Links != 16 {
			r.t.Errorf("the report is %+v", got)
		}
		page, err := r.trail.Links(r.t.Context(), 0, 100)
		if err != nil || len(page) == 0 || len(page) >= 16 {
			r.t.Errorf("a page has %d links, %v; want fewer than all", len(page), err)
		}
	})
}

// An act dated long before its seal is counted.
func TestSealedLate(t *testing.T) {
	t.Parallel()
	onEveryDatabase(t, func(r *rig) {
		r.add(1)
		r.now = r.now.Add(24 * time.Hour)
		r.seal()
		if got := r.sound(); got.SealedLate != 1 || got.FirstLate != 1 {
			r.t.Errorf("the report is %+v", got)
		}
	})
}
