package kafka_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/taskerhq/tasker/internal/broker/driver"
	"github.com/taskerhq/tasker/internal/broker/kafka"
	"github.com/taskerhq/tasker/internal/testkit/kafkatest"
)

func token(t *testing.T, subject string) string {
	t.Helper()
	part := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	now := time.Now().Unix()
	return part(map[string]any{"alg": "none"}) + "." +
		part(map[string]any{"sub": subject, "iat": now, "exp": now + 600}) + "."
}

func issuer(t *testing.T, client, secret string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		if name != client || password != secret || r.FormValue("grant_type") != "client_credentials" ||
			r.FormValue("scope") != "kafka" {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": token(t, client), "token_type": "Bearer"})
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestSecurity uses one broker, because each start takes seconds.
func TestSecurity(t *testing.T) {
	s := kafkatest.StartSecured(t)
	t.Run("Logins", func(t *testing.T) { logins(t, s) })
	t.Run("Permissions", func(t *testing.T) { permissions(t, s) })
	t.Run("Inspect", func(t *testing.T) { inspect(t, s) })
}

// All mechanisms, with and without TLS. No error shows a password.
func logins(t *testing.T, s *kafkatest.Secured) {
	topic := kafkatest.NewTopic(t, s.URL(), 1)
	s.AddUser(t, "carol", "p@ss/word-of-carol")
	for _, user := range []string{"User:alice", "User:carol", "User:dave", "User:CN=client"} {
		s.Allow(t, user, []string{topic}, nil, kadm.OpWrite)
	}
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token(t, "dave")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const carol = "carol:p%40ss%2Fword-of-carol@"
	tls := "cacertfile=" + s.CA
	issued := s.SASL + "/?sasl=oauthbearer&scope=kafka&token_url=" + issuer(t, "dave", "its-secret")
	for name, c := range map[string]struct {
		url string
		ok  bool
	}{
		"Plain":         {"kafka://alice:alice-secret@" + s.SASL, true},
		"PlainWrong":    {"kafka://alice:wrong-secret@" + s.SASL, false},
		"Scram256":      {"kafka://" + carol + s.SASL + "/?sasl=scram-sha-256", true},
		"Scram512":      {"kafka://" + carol + s.SASL + "/?sasl=SCRAM-SHA-512", true},
		"ScramWrong":    {"kafka://carol:wrong-secret@" + s.SASL + "/?sasl=scram-sha-512", false},
		"TokenFile":     {"kafka://" + s.SASL + "/?sasl=oauthbearer&token_file=" + file, true},
		"TokenIssued":   {"kafka://dave:its-secret@" + issued, true},
		"TokenRefused":  {"kafka://dave:wrong-secret@" + issued, false},
		"MutualTLS":     {"kafkas://" + s.TLS + "/?" + tls + "&certfile=" + s.Cert + "&keyfile=" + s.Key, true},
		"NoCertificate": {"kafkas://" + s.TLS + "/?" + tls, false},
		"UnknownCA":     {"kafkas://alice:alice-secret@" + s.SASLTLS, false},
		"WrongName":     {"kafkas://alice:alice-secret@" + s.SASLTLS + "/?" + tls + "&server_name_indication=elsewhere", false},
		"NotVerified":   {"kafkas://alice:alice-secret@" + s.SASLTLS + "/?verify=verify_none", true},
		"PlainTLS":      {"kafkas://alice:alice-secret@" + s.SASLTLS + "/?" + tls, true},
		"ScramTLS":      {"kafkas://" + carol + s.SASLTLS + "/?sasl=scram-sha-512&" + tls, true},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := driver.Registry{"kafka": kafka.Open}.Open(t.Context(), "kafka", c.url)
			if err == nil {
				for _, sent := range d.Send(t.Context(), topic, numbered(1), driver.Limits{}) {
					err = sent
				}
				if closed := d.Close(); closed != nil {
					t.Error(closed)
				}
			}
			if (err == nil) != c.ok {
				t.Errorf("it says %v", err)
			}
			if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "word-of")) {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

// The ACLs of docs/guides/kafka.md suffice, and other access is refused message by message.
func permissions(t *testing.T, s *kafkatest.Secured) {
	dead, work, other := kafkatest.NewTopic(t, s.URL(), 1), kafkatest.NewTopic(t, s.URL(), 1),
		kafkatest.NewTopic(t, s.URL(), 1)
	s.Allow(t, "User:bob", []string{dead}, nil, kadm.OpRead)
	s.Allow(t, "User:bob", nil, []string{"tasker-" + dead}, kadm.OpRead)
	s.Allow(t, "User:bob", []string{work}, nil, kadm.OpWrite)
	send(t, open(t, s.URL()), dead, numbered(3)...)
	d := open(t, "kafka://bob:bob-secret@"+s.SASL)
	depth(t, d, dead, 3)
	r := receiver(t, d, dead)
	got := receive(t, r, 3)
	send(t, d, work, got...)
	ack(t, r, got)
	depth(t, d, dead, 0)
	if exists, n, err := d.Stat(t.Context(), work); !exists || n != -1 || err != nil {
		t.Errorf("the topic to write to: %t, %d, %v", exists, n, err)
	}
	// Without permission to read the topic's retention, records arrive anyway.
	for _, age := range []time.Duration{23 * time.Hour, 25 * time.Hour} {
		ms := time.Now().Add(-age).UnixMilli()
		send(t, d, work, driver.Message{Headers: header("kafka-timestamp", strconv.FormatInt(ms, 10))})
	}
	for i, m := range receive(t, receiver(t, open(t, s.URL()), work), 5)[3:] {
		if _, is := headers(&m)["kafka-header-kafka-original-timestamp"]; is != (i == 1) {
			t.Errorf("message %d of unknown retention has %q", i, headers(&m))
		}
	}
	for i, err := range d.Send(t.Context(), other, numbered(2), driver.Limits{}) {
		if !errors.Is(err, driver.ErrRefused) {
			t.Errorf("message %d: %v", i, err)
		}
	}
	for i, err := range d.Send(t.Context(), dead, numbered(2), driver.Limits{}) {
		if !errors.Is(err, driver.ErrRefused) {
			t.Errorf("message %d to a topic that it may read: %v", i, err)
		}
	}
	for name, url := range map[string]string{"topic": other, "group": dead + "?group=other"} {
		topic, query, _ := strings.Cut(url, "?")
		at := fmt.Sprintf("kafka://bob:bob-secret@%s/?%s", s.SASL, query)
		if _, err := open(t, at).Open(t.Context(), topic); !errors.Is(err, driver.ErrRefused) {
			t.Errorf("a %s that it may not read: %v", name, err)
		}
	}
}

// Missing permissions are reported, even for topics that the user cannot see.
func inspect(t *testing.T, s *kafkatest.Secured) {
	dead, work, other := kafkatest.NewTopic(t, s.URL(), 1), kafkatest.NewTopic(t, s.URL(), 1),
		kafkatest.NewTopic(t, s.URL(), 1)
	s.Allow(t, "User:bob", []string{dead}, nil, kadm.OpRead)
	s.Allow(t, "User:bob", nil, []string{"tasker-" + dead}, kadm.OpRead)
	s.Allow(t, "User:bob", []string{work}, nil, kadm.OpWrite)
	bob := "kafka://bob:bob-secret@" + s.SASL
	look := func(queue string, sends ...string) string {
		t.Helper()
		f, err := kafka.Inspect(t.Context(), bob, queue, sends)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint("queue", f.Queue.Missing, " group", f.GroupMissing)
		for _, to := range f.Sends {
			text += fmt.Sprint(" to", to.Missing)
		}
		return text + fmt.Sprint(" config ", f.ConfigError != nil)
	}
	for _, c := range []struct{ got, want string }{
		{look(dead, work), "queue[] group[] to[] config true"}, // DescribeConfigs is not needed to read
		{look(dead, dead, other), "queue[] group[] to[WRITE] to[DESCRIBE WRITE] config true"},
		{look(other), "queue[DESCRIBE READ] group[READ] config false"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}
