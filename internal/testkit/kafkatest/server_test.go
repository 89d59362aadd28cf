package kafkatest

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func topics(t *testing.T, admin *kadm.Client) []string {
	t.Helper()
	all, err := admin.ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all.Names()
}

func TestShared(t *testing.T) {
	t.Parallel()
	url := Shared(t)
	admin := Admin(t, url)
	outer := NewTopic(t, url, 1)
	var inner string
	t.Run("Apart", func(t *testing.T) {
		inner = NewTopic(t, url, 3, "cleanup.policy", "compact")
		if all := topics(t, admin); inner == outer || !slices.Contains(all, inner) || !slices.Contains(all, outer) {
			t.Errorf("of %s and %s there are %v", outer, inner, all)
		}
	})
	t.Run("DeletedWithTheTest", func(t *testing.T) {
		if all := topics(t, admin); slices.Contains(all, inner) || !slices.Contains(all, outer) {
			t.Errorf("there are %v", all)
		}
	})
}

// TestServer tests everything with one broker, because each start takes seconds.
func TestServer(t *testing.T) {
	t.Parallel()
	s := Start(t, nil)
	url := s.URL()
	CreateTopic(t, url, "kept", 1)
	client := Client(t, url)
	send := func(value string) {
		t.Helper()
		r := kgo.Record{Topic: "kept", Value: []byte(value)}
		if err := client.ProduceSync(t.Context(), &r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	send("1")
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	if s.URL() != url {
		t.Errorf("after a restart it is at %s, not %s", s.URL(), url)
	}
	send("2")
	if err := s.Freeze(); err != nil {
		t.Fatal(err)
	}
	if err := s.Thaw(); err != nil {
		t.Fatal(err)
	}
	send("3")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	ends, err := Admin(t, url).ListEndOffsets(t.Context(), "kept")
	if end, _ := ends.Lookup("kept", 0); err != nil || end.Offset != 3 {
		t.Errorf("there are %d records, want 3; %v", end.Offset, err)
	}
}
