package brokerurl_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskerhq/tasker/internal/broker/brokerurl"
	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

var kind = brokerurl.Kind{Broker: "Post", Scheme: "post", Malformed: errors.New("must look like"),
	Parameters: []string{"office"}}

func read(text string) (*brokerurl.URL, error) {
	u, err := kind.Parse(text, "own")
	if err == nil {
		_, err = u.Timeout(time.Second)
	}
	if err == nil {
		_, err = u.TLS("host")
	}
	return u, err
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none.pem")
	if err := os.WriteFile(none, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"redis://host":                           "must look like",
		"post:///":                               "must look like",
		"post://user:p%zz@host":                  "must look like",
		"post://user:secret @host":               "must look like",
		"post://host?%zz":                        "must look like",
		"post://u:secret@host?ofice=1":           "a parameter that there is not",
		"post://host?cacertfile=x":               "cacertfile, which goes with posts:// only",
		"post://host?connection_timeout=0":       "connection_timeout in the URL of Post",
		"post://host?connection_timeout=600001":  "connection_timeout in the URL of Post",
		"posts://u:secret@host?verify=perhaps":   "verify in the URL of Post",
		"posts://host?certfile=only":             "both certfile and keyfile",
		"posts://host?certfile=no&keyfile=no":    "read certfile and keyfile",
		"posts://u:secret@host?cacertfile=/no":   "read the certificates that the URL of Post names with cacertfile",
		"posts://u:secret@h?cacertfile=" + none:  "has no certificate",
		"posts://u:secret@h?own=1&keyfile=/some": "both certfile and keyfile",
	} {
		_, err := read(text)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	plain, err := kind.Parse("post://host?own=1&office=2&connection_timeout=1500", "own")
	if err != nil || plain.Own.Encode() != "own=1" || plain.Query.Get("office") != "2" || plain.Query.Has("own") {
		t.Fatalf("%+v, %v", plain, err)
	}
	if d, err := plain.Timeout(time.Second); err != nil || d != 1500*time.Millisecond {
		t.Errorf("the timeout is %v, %v", d, err)
	}
	if c, err := plain.TLS("host"); c != nil || err != nil {
		t.Errorf("without TLS: %+v, %v", c, err)
	}
	files := testserver.NewCertificates(t)
	secure, err := kind.Parse("posts://host?office=2&cacertfile="+files.CA+"&certfile="+files.Client+"&keyfile="+
		files.ClientKey+"&server_name_indication=other", "own")
	if err != nil {
		t.Fatal(err)
	}
	c, err := secure.TLS("host")
	if err != nil || c.ServerName != "other" || c.RootCAs == nil || len(c.Certificates) != 1 || c.InsecureSkipVerify {
		t.Errorf("with TLS: %+v, %v", c, err)
	}
	if got := secure.Query.Encode(); got != "office=2" {
		t.Errorf("the parameters that are left are %s", got)
	}
	if d, err := secure.Timeout(time.Second); err != nil || d != time.Second {
		t.Errorf("the timeout is %v, %v", d, err)
	}
}
