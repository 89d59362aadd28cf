package transfer_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/host/node"
	"github.com/taskerhq/tasker/internal/model/access"
)

func TestSessionsAreNotCopied(t *testing.T) {
	t.Parallel()
	from := filled(t, 1)
	session := access.Session{Hash: [32]byte{1}, Key: "ann", KeyID: "id", CreatedAt: time.Now(),
		ExpiresAt: time.Now().Add(time.Hour)}
	open := func(dsn string) *node.Node {
		t.Helper()
		b, err := node.New(t.Context(), openSQLite(t, path(dsn)), node.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	source := open(from)
	if err := source.SaveSession(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	if err := source.Close(); err != nil {
		t.Fatal(err)
	}
	to := "sqlite:" + filepath.Join(t.TempDir(), "copy.db")
	mustCopy(t, from, to)
	for dsn, want := range map[string]bool{from: true, to: false} {
		b := open(dsn)
		found, err := b.FindSession(t.Context(), session.Hash)
		if err != nil || (found != nil) != want {
			t.Errorf("%s: the session is %v, %v", dsn, found, err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}
