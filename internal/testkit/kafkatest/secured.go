package kafkatest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/taskerhq/tasker/internal/testkit/testserver"
)

// Secured is a broker that allows only what its ACLs allow. Its own URL is an administrator's.
type Secured struct {
	*Server
	SASL    string // host:port of a listener with PLAIN, SCRAM and OAUTHBEARER, without TLS
	TLS     string // host:port of a listener with TLS that requires client certificates
	SASLTLS string // host:port of a listener with TLS, PLAIN and SCRAM
	CA      string // the file of the signing certificate
	Cert    string // files of a client's certificate, of User:CN=client, and of its key
	Key     string
}

// Users of the mechanism PLAIN; the password is the name with "-secret".
var plainUsers = []string{"alice", "bob"}

// StartSecured starts a Secured. Its OAUTHBEARER accepts unsigned tokens (alg none).
func StartSecured(t testing.TB) *Secured {
	t.Helper()
	c := testserver.NewCertificates(t)
	keystore := filepath.Join(c.Dir, "keystore.pem")
	join(t, keystore, c.ServerKey, c.Server)
	var listeners []Listener
	for _, l := range []Listener{{Name: "LOGIN", Protocol: "SASL_PLAINTEXT"}, {Name: "MUTUAL", Protocol: "SSL"},
		{Name: "BOTH", Protocol: "SASL_SSL"}} {
		var err error
		if l.Port, err = testserver.FreePort(); err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
	}
	plain := "org.apache.kafka.common.security.plain.PlainLoginModule required"
	for _, name := range plainUsers {
		plain += fmt.Sprintf(` user_%s="%s-secret"`, name, name)
	}
	const scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
	settings := map[string]string{
		"authorizer.class.name":                              "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users":                                        "User:ANONYMOUS",
		"ssl.keystore.type":                                  "PEM",
		"ssl.keystore.location":                              keystore,
		"ssl.truststore.type":                                "PEM",
		"ssl.truststore.location":                            c.CA,
		"listener.name.mutual.ssl.client.auth":               "required",
		"listener.name.login.sasl.enabled.mechanisms":        "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
		"listener.name.both.sasl.enabled.mechanisms":         "PLAIN,SCRAM-SHA-512",
		"listener.name.login.plain.sasl.jaas.config":         plain + ";",
		"listener.name.both.plain.sasl.jaas.config":          plain + ";",
		"listener.name.login.scram-sha-256.sasl.jaas.config": scram,
		"listener.name.login.scram-sha-512.sasl.jaas.config": scram,
		"listener.name.both.scram-sha-512.sasl.jaas.config":  scram,
		"listener.name.login.oauthbearer.sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer." +
			`OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`,
		"listener.name.login.oauthbearer.sasl.server.callback.handler.class": "org.apache.kafka.common.security." +
			"oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler",
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", listeners[i].Port) }
	return &Secured{Server: Start(t, settings, listeners...), SASL: at(0), TLS: at(1), SASLTLS: at(2), CA: c.CA,
		Cert: c.Client, Key: c.ClientKey}
}

func join(t testing.TB, to string, files ...string) {
	t.Helper()
	var all []byte
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, raw...)
	}
	if err := os.WriteFile(to, all, 0o644); err != nil {
		t.Fatal(err)
	}
}

// AddUser makes a user of SCRAM, or changes the password.
func (s *Secured) AddUser(t testing.TB, name, password string) {
	t.Helper()
	for _, mechanism := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} { // one per request
		answer, err := Admin(t, s.URL()).AlterUserSCRAMs(t.Context(), nil, []kadm.UpsertSCRAM{{User: name,
			Mechanism: mechanism, Iterations: 4096, Password: password}})
		if err == nil {
			err = answer.Error()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Allow lets a principal, like "User:alice", do operations on topics and groups.
func (s *Secured) Allow(t testing.TB, principal string, topics, groups []string, operations ...kadm.ACLOperation) {
	t.Helper()
	b := kadm.NewACLs().Allow(principal).AllowHosts().Operations(operations...).ResourcePatternType(kadm.ACLPatternLiteral)
	if len(topics) > 0 {
		b = b.Topics(topics...)
	}
	if len(groups) > 0 {
		b = b.Groups(groups...)
	}
	answers, err := Admin(t, s.URL()).CreateACLs(t.Context(), b)
	for _, answer := range answers {
		if err == nil {
			err = answer.Err
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}
