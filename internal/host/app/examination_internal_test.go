package app

import (
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker"
	"github.com/taskerhq/tasker/internal/dashboard/system"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/doctor"
	"github.com/taskerhq/tasker/internal/testkit/sqlitetest"
)

// TestExamination: the report is kept for half a minute, but not after the clock went back.
func TestExamination(t *testing.T) {
	t.Parallel()
	dsn, err := config.ParseDSN("sqlite:" + sqlitetest.File(t))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	e := &examination{dsn: dsn, now: func() time.Time { return now }}
	checks, at, err := e.report(t.Context())
	if err != nil || len(checks) == 0 || !at.Equal(now) || checks[0].Name == "" || checks[0].Status == "" {
		t.Fatalf("the report is %+v of %s, %v", checks, at, err)
	}
	first := now
	for _, c := range []struct {
		after time.Duration
		fresh bool
	}{{29 * time.Second, false}, {time.Second, true}, {-time.Minute, true}} {
		now = now.Add(c.after)
		_, at, err := e.report(t.Context())
		if err != nil || at.Equal(first) == c.fresh {
			t.Errorf("%s later the report is of %s, %v", c.after, at, err)
		}
		first = at
	}
	gone := &examination{dsn: config.DSN{Engine: "sqlite", Path: t.TempDir() + "/nothing.db"}, now: time.Now}
	if _, _, err := gone.report(t.Context()); tasker.ErrorCode(err) != tasker.CodeUnavailable {
		t.Errorf("a database that is not there has the answer %v", err)
	}
}

// TestExaminationKnowsTheBlobStore: the page makes the checks of the command, for example without a warning about a
// configured blob store.
func TestExaminationKnowsTheBlobStore(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.DB.DSN = "sqlite:" + sqlitetest.File(t)
	cfg.Blobs.URL = "file:" + t.TempDir()
	checks, _, err := about(func() *config.Config { return &cfg }, nobody{}, "test").Examine(t.Context())
	if err != nil || !slices.ContainsFunc(checks, func(c system.Check) bool {
		return c.Name == "blob_store" && c.Status == string(doctor.OK)
	}) {
		t.Errorf("the checks are %+v, %v", checks, err)
	}
}

type nobody struct{ backend }
