package local_test

import (
	"slices"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/model/access"
	"github.com/taskerhq/tasker/operate"
)

// TestSessions: signing in and signing everyone out are acts with the key, and expired sessions are deleted.
func TestSessions(t *testing.T) { onEveryStore(t, testSessions) }

func testSessions(t *testing.T, r *rig) {
	_, hash := access.Generate()
	keys, err := access.New([]access.Key{{Name: "ann", SHA256: hash, Permissions: []string{"read"}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := access.With(t.Context(), keys.Named("ann"))
	save := func(b byte, lifetime time.Duration) access.Session {
		t.Helper()
		s := access.Session{Hash: [32]byte{b}, Key: "ann", KeyID: keys.Named("ann").ID(), CreatedAt: r.clock(),
			ExpiresAt: r.clock().Add(lifetime)}
		if err := r.b.SaveSession(ctx, s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	exists := func(s access.Session) bool {
		t.Helper()
		found, err := r.b.FindSession(t.Context(), s.Hash)
		if err != nil {
			t.Fatal(err)
		}
		if found != nil && (found.Hash != s.Hash || found.Key != s.Key || found.KeyID != s.KeyID ||
			!found.CreatedAt.Equal(s.CreatedAt) || !found.ExpiresAt.Equal(s.ExpiresAt)) {
			t.Errorf("found %+v, want %+v", *found, s)
		}
		return found != nil
	}
	short, long, ended := save(1, time.Hour), save(2, 12*time.Hour), save(3, 12*time.Hour)
	for range 2 { // the second time there is none
		if err := r.b.EndSession(ctx, ended.Hash); err != nil {
			t.Fatal(err)
		}
	}
	if !exists(short) || !exists(long) || exists(ended) {
		t.Errorf("after one sign-out there are %v, %v, %v", exists(short), exists(long), exists(ended))
	}
	r.wait(t, 2*time.Hour)
	if exists(short) || !exists(long) {
		t.Errorf("after two hours there are %v, %v", exists(short), exists(long))
	}
	for _, want := range []int{1, 0} {
		if n, err := r.b.EndSessions(ctx, "ann"); err != nil || n != want {
			t.Errorf("%d sessions were ended, %v; want %d", n, err, want)
		}
	}

	acts, err := r.Audit(t.Context(), operate.AuditFilter{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range acts {
		if a.KeyName != "ann" || a.Actor != "ann" {
			t.Errorf("the act is %+v", a)
		}
		got = append(got, a.Kind)
	}
	if want := []string{"sign_out_everywhere", "sign_in", "sign_in", "sign_in"}; !slices.Equal(got, want) {
		t.Errorf("the trail is %v, want %v", got, want)
	}
}
