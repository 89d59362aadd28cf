package embedded_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/embedded"
	"github.com/taskerhq/tasker/embedded/postgres"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
)

// submitter submits the order and its task in one transaction, which before commits by returning nil.
type submitter struct {
	client *tasker.Client
	orders func(t *testing.T) int
	submit func(ctx context.Context, before func() error, tasks ...tasker.TaskRequest) ([]tasker.TaskReceipt, error)
	close  func()
}

func openSubmitter(ctx context.Context, dsn string) (*submitter, error) {
	client, err := embedded.Open(ctx, dsn, nil)
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(dsn, "sqlite:") {
		return onSQLite(ctx, client)
	}
	return onPostgres(ctx, client, dsn)
}

func onSQLite(ctx context.Context, client *tasker.Client) (*submitter, error) {
	_, err := embedded.SubmitSQLite(ctx, client, func(tx *sql.Tx) error {
		_, err := tx.Exec(`CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, text TEXT)`)
		return err
	})
	return &submitter{client: client, close: func() { _ = client.Close() },
		orders: func(t *testing.T) (n int) {
			t.Helper()
			_, err := embedded.SubmitSQLite(t.Context(), client, func(tx *sql.Tx) error {
				return tx.QueryRow(`SELECT count(*) FROM orders WHERE text = ?`, "lamp").Scan(&n)
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		},
		submit: func(ctx context.Context, before func() error, tasks ...tasker.TaskRequest) ([]tasker.TaskReceipt, error) {
			return embedded.SubmitSQLite(ctx, client, func(tx *sql.Tx) error {
				if _, err := tx.Exec(`INSERT INTO orders (text) VALUES (?)`, "lamp"); err != nil {
					return err
				}
				return before()
			}, tasks...)
		}}, err
}

func onPostgres(ctx context.Context, client *tasker.Client, dsn string) (*submitter, error) {
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	table := cfg.RuntimeParams["schema"] + ".orders"
	delete(cfg.RuntimeParams, "schema") // a connection without our schema
	db := stdlib.OpenDB(*cfg)
	_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+table+` (id int)`)
	return &submitter{client: client, close: func() { _ = db.Close(); _ = client.Close() },
		orders: func(t *testing.T) (n int) {
			t.Helper()
			if err := db.QueryRow(`SELECT count(*) FROM ` + table).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		},
		submit: func(ctx context.Context, before func() error, tasks ...tasker.TaskRequest) ([]tasker.TaskReceipt, error) {
			conn, err := db.Conn(ctx)
			if err != nil {
				return nil, err
			}
			defer conn.Close()
			tx, err := conn.BeginTx(ctx, nil)
			if err != nil {
				return nil, err
			}
			defer tx.Rollback() // no effect after the commit
			if _, err := tx.ExecContext(ctx, `INSERT INTO `+table+` VALUES (1)`); err != nil {
				return nil, err
			}
			receipts, err := postgres.SubmitConn(ctx, conn, client, tasks...)
			if err == nil {
				err = before()
			}
			if err == nil {
				err = tx.Commit()
			}
			return receipts, err
		}}, err
}

func onBoth(t *testing.T, test func(t *testing.T, dsn string)) {
	t.Helper()
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, "sqlite:"+filepath.Join(t.TempDir(), "shop.db"))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, pgtest.DSN(t))
	})
}

func tasksOf(t *testing.T, c *tasker.Client) int {
	t.Helper()
	page, err := c.Tasks(t.Context(), tasker.TaskFilter{})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Tasks)
}

func TestSubmitSQL(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		s, err := openSubmitter(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		want := func(when string, orders, tasks int) {
			t.Helper()
			if o, n := s.orders(t), tasksOf(t, s.client); o != orders || n != tasks {
				t.Errorf("%s: %d orders and %d tasks, want %d and %d", when, o, n, orders, tasks)
			}
		}
		fine := func() error { return nil }
		ship, bill := tasker.NewHandlerTask("ship", 1), tasker.NewHandlerTask("bill", 1, tasker.WithIdempotencyKey("k"))
		receipts, err := s.submit(t.Context(), fine, ship, bill)
		if err != nil || len(receipts) != 2 || !receipts[1].Created {
			t.Fatalf("receipts %+v, %v", receipts, err)
		}
		want("after the commit", 1, 2)
		no := errors.New("no")
		if _, err := s.submit(t.Context(), func() error { return no }, ship); !errors.Is(err, no) {
			t.Errorf("rolled back: %v", err)
		}
		want("after a roll-back", 1, 2)
		for name, bad := range map[string]tasker.TaskRequest{"Template": tasker.NewTask("nope", 1),
			"Input": tasker.NewHandlerTask("ship", make(chan int))} {
			if _, err := s.submit(t.Context(), fine, ship, bad); tasker.ErrorCode(err) != tasker.CodeInvalid {
				t.Errorf("%s: %v, want CodeInvalid", name, err)
			}
		}
		want("after a refusal", 1, 2)
		again, err := s.submit(t.Context(), fine, bill)
		if err != nil || again[0].Created || again[0].TaskUUID != receipts[1].TaskUUID {
			t.Errorf("the same key again: %+v, %v", again, err)
		}
		want("after the same key", 2, 2)
	})
}

// TestSubmitSQLiteMisused: a caller that ends the transaction harms nobody, and a panic is an error.
func TestSubmitSQLiteMisused(t *testing.T) {
	t.Parallel()
	s, err := openSubmitter(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	ship := tasker.NewHandlerTask("ship", 1)
	for name, tc := range map[string]struct {
		write func(tx *sql.Tx) error
		code  tasker.Code
	}{
		"Commit":    {func(tx *sql.Tx) error { return tx.Commit() }, tasker.CodeInvalid},
		"Rollback":  {func(tx *sql.Tx) error { return tx.Rollback() }, tasker.CodeInvalid},
		"SQLCommit": {func(tx *sql.Tx) error { _, err := tx.Exec("COMMIT"); return err }, tasker.CodeInvalid},
		"Panic":     {func(*sql.Tx) error { panic("oh") }, tasker.CodeInternal},
	} {
		if _, err := embedded.SubmitSQLite(t.Context(), s.client, tc.write, ship); tasker.ErrorCode(err) != tc.code {
			t.Errorf("%s: %v, want %s", name, err, tc.code)
		}
	}
	if n := tasksOf(t, s.client); n != 0 {
		t.Errorf("%d tasks are there", n)
	}
	if _, err := s.client.Submit(t.Context(), ship); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	remote := tasker.NewClient(nil)
	if _, err := embedded.SubmitSQLite(t.Context(), remote, nil, ship); tasker.ErrorCode(err) != tasker.CodeInvalid {
		t.Errorf("the client of a server: %v", err)
	}
	if _, err := postgres.SubmitConn(t.Context(), nil, remote, ship); tasker.ErrorCode(err) != tasker.CodeInvalid {
		t.Errorf("the client of a server: %v", err)
	}
}

// TestSubmitSQLiteBeside: callers' transactions, some failing, beside submissions.
func TestSubmitSQLiteBeside(t *testing.T) {
	t.Parallel()
	s, err := openSubmitter(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	const each = 25
	no := errors.New("no")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range each {
				var end error
				if i%5 == 4 {
					end = no
				}
				_, err := s.submit(t.Context(), func() error { return end }, tasker.NewHandlerTask("ship", i))
				if !errors.Is(err, end) {
					t.Errorf("with %v: %v", end, err)
				}
			}
		})
		all.Go(func() {
			for i := range each {
				if r, err := s.client.Submit(t.Context(), tasker.NewHandlerTask("other", i)); err != nil || !r.Created {
					t.Errorf("beside it: %+v, %v", r, err)
				}
			}
		})
	}
	all.Wait()
	page, err := s.client.Tasks(t.Context(), tasker.TaskFilter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if o, n := s.orders(t), len(page.Tasks); o != 80 || n != 180 {
		t.Errorf("%d orders and %d tasks, want 80 and 180", o, n)
	}
}

// TestSubmitSQLCrash kills a process within its transaction and after it: the order and its task exist both, or
// neither.
func TestSubmitSQLCrash(t *testing.T) {
	if dsn := os.Getenv("TASKER_TEST_CRASH_DSN"); dsn != "" {
		crash(t, dsn)
		return
	}
	onBoth(t, func(t *testing.T, dsn string) {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSubmitSQLCrash$")
		child.Env = append(os.Environ(), "TASKER_TEST_CRASH_DSN="+dsn)
		out, err := child.StdoutPipe()
		if err == nil {
			err = child.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for lines.Scan() && lines.Text() != "within" {
		}
		if lines.Text() != "within" {
			t.Error("the process ended early")
		}
		if err := child.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = child.Wait() // killed
		s, err := openSubmitter(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		if o, n := s.orders(t), tasksOf(t, s.client); o != 1 || n != 1 {
			t.Errorf("%d orders and %d tasks, want those of the first transaction", o, n)
		}
	})
}

// crash commits one transaction, and is killed within the second.
func crash(t *testing.T, dsn string) {
	s, err := openSubmitter(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.submit(t.Context(), func() error { return nil }, tasker.NewHandlerTask("ship", 1)); err != nil {
		t.Fatal(err)
	}
	_, _ = s.submit(t.Context(), func() error {
		fmt.Println("within")
		select {}
	}, tasker.NewHandlerTask("ship", 2))
}
