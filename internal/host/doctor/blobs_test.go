package doctor_test

import (
	"path/filepath"
	"testing"

	_ "github.com/taskerhq/tasker/embedded/kafka"
	_ "github.com/taskerhq/tasker/embedded/postgres"
	_ "github.com/taskerhq/tasker/embedded/redis"
	_ "github.com/taskerhq/tasker/embedded/s3"
	"github.com/taskerhq/tasker/internal/host/config"
	"github.com/taskerhq/tasker/internal/host/doctor"
	"github.com/taskerhq/tasker/internal/testkit/pgtest"
	"github.com/taskerhq/tasker/internal/testkit/s3test"
)

func TestBlobStore(t *testing.T) {
	t.Parallel()
	s3 := s3test.Shared(t)
	missing := filepath.Join(t.TempDir(), "missing")
	for name, dsn := range map[string]func(*testing.T) string{"SQLite": sqliteIn,
		"PostgreSQL": func(t *testing.T) string { return pgtest.DSN(t) }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, err := config.ParseDSN(with(t, dsn(t)))
			if err != nil {
				t.Fatal(err)
			}
			for what, c := range map[string]struct {
				blobs config.Blobs
				want  doctor.Status // "": no check
			}{
				"None":      {config.Blobs{}, ""},
				"Directory": {config.Blobs{URL: "file:" + t.TempDir()}, doctor.OK},
				"Missing":   {config.Blobs{URL: "file:" + missing}, doctor.Fail},
				"S3": {config.Blobs{URL: s3.URL(t), AccessKeyID: s3.AccessKeyID, SecretAccessKey: s3.SecretAccessKey},
					doctor.OK},
				"OtherKey": {config.Blobs{URL: s3.URL(t), AccessKeyID: s3.AccessKeyID, SecretAccessKey: "x"}, doctor.Fail},
				"Away": {config.Blobs{URL: "s3://b?endpoint=http://127.0.0.1:1", AccessKeyID: "a", SecretAccessKey: "x"},
					doctor.Fail},
			} {
				report, err := doctor.Examine(t.Context(), at, doctor.Options{Blobs: c.blobs})
				if err != nil {
					t.Fatal(err)
				}
				var got doctor.Status
				for _, check := range report.Checks {
					if check.Name == "blob_store" {
						got = check.Status
					}
				}
				if got != c.want {
					t.Errorf("%s: %q, want %q", what, got, c.want)
				}
			}
		})
	}
	if left, err := filepath.Glob(missing); err != nil || len(left) > 0 {
		t.Error("doctor has created the directory", err)
	}
}
