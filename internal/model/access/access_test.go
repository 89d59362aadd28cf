package access_test

import (
	"context"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/internal/model/access"
)

func TestGenerate(t *testing.T) {
	t.Parallel()
	secret, hash := access.Generate()
	if !strings.HasPrefix(secret, access.Prefix) || len(secret) != len(access.Prefix)+43 {
		t.Errorf("secret %q is not the prefix and 32 bytes in base64url", secret)
	}
	if hash != access.Hash(secret) || len(hash) != 64 || strings.Contains(secret, hash) {
		t.Errorf("hash %q does not belong to the secret", hash)
	}
	if again, _ := access.Generate(); again == secret {
		t.Error("two keys are the same")
	}
}

func TestHashIsPlainSHA256(t *testing.T) {
	t.Parallel()
	// printf abc | sha256sum
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	if got := access.Hash("abc"); got != want {
		t.Errorf("Hash(abc) = %s, want %s", got, want)
	}
}

func TestAuthenticate(t *testing.T) {
	t.Parallel()
	producer, producerHash := access.Generate()
	worker, workerHash := access.Generate()
	ring, err := access.New([]access.Key{
		{Name: "producer", SHA256: producerHash, Permissions: []string{"submit", "read"}},
		{Name: "worker", SHA256: strings.ToUpper(workerHash), Permissions: []string{"work"}, Namespaces: []string{"video"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := ring.Authenticate(producer); got == nil || got.Name != "producer" {
		t.Errorf("producer's key is %+v", got)
	}
	if got := ring.Authenticate(worker); got == nil || got.Name != "worker" {
		t.Errorf("worker's key is %+v", got)
	}
	for name, secret := range map[string]string{
		"Empty": "", "Prefix": access.Prefix, "Cut": producer[:len(producer)-1],
		"Longer": producer + "A", "TheHash": producerHash,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ring.Authenticate(secret); got != nil {
				t.Errorf("Authenticate(%q) = %s, want nobody", secret, got.Name)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	none, err := access.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !none.Open() || !(*access.Keyring)(nil).Open() {
		t.Error("a ring without keys must be open")
	}
	if none.Authenticate("") != nil || (*access.Keyring)(nil).Authenticate("x") != nil {
		t.Error("a ring without keys knows nobody")
	}
	_, hash := access.Generate()
	one, err := access.New([]access.Key{{Name: "a", SHA256: hash, Permissions: []string{"read"}}})
	if err != nil {
		t.Fatal(err)
	}
	if one.Open() {
		t.Error("a ring with a key must not be open")
	}
}

func TestCan(t *testing.T) {
	t.Parallel()
	for _, held := range access.Permissions() {
		secret, hash := access.Generate()
		ring, err := access.New([]access.Key{{Name: "k", SHA256: hash, Permissions: []string{string(held)}}})
		if err != nil {
			t.Fatal(err)
		}
		p := ring.Authenticate(secret)
		for _, wanted := range access.Permissions() {
			want := held == wanted || held == access.Admin
			if got := p.Can(wanted); got != want {
				t.Errorf("a key with %s: Can(%s) = %v, want %v", held, wanted, got, want)
			}
		}
		if want := held == access.Submit || held == access.Operate ||
			held == access.Admin; p.Can(access.Submit, access.Operate) != want {
			t.Errorf("a key with %s: Can(submit, operate) = %v", held, !want)
		}
	}
}

func TestNamespaces(t *testing.T) {
	t.Parallel()
	secret, hash := access.Generate()
	ring, err := access.New(
		[]access.Key{{Name: "k", SHA256: hash, Permissions: []string{"read"}, Namespaces: []string{"video", "audio"}}})
	if err != nil {
		t.Fatal(err)
	}
	p := ring.Authenticate(secret)
	if !p.Limited() || !p.Reaches("audio") || p.Reaches("default") || p.Reaches("") || p.Reaches("VIDEO") {
		t.Errorf("limits of %v are wrong", p.Namespaces())
	}
	p.Namespaces()[0] = "default"
	if p.Reaches("default") {
		t.Error("the caller could change the limits")
	}
	var everybody *access.Principal
	if everybody.Limited() || !everybody.Reaches("anything") || everybody.Namespaces() != nil {
		t.Error("without keys there is no limit")
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	_, hash := access.Generate()
	_, other := access.Generate()
	good := access.Key{Name: "a", SHA256: hash, Permissions: []string{"read"}}
	for name, c := range map[string]struct {
		keys []access.Key
		want string
	}{
		"NoName": {[]access.Key{{SHA256: hash, Permissions: []string{"read"}}}, "a name is required"},
		"NoHash": {[]access.Key{{Name: "a", Permissions: []string{"read"}}}, "64 hexadecimal digits"},
		"NotHex": {[]access.Key{{Name: "a", SHA256: strings.Repeat("z", 64), Permissions: []string{"read"}}},
			"64 hexadecimal digits"},
		"ShortHash": {[]access.Key{{Name: "a", SHA256: hash[:62], Permissions: []string{"read"}}},
			"64 hexadecimal digits"},
		"NoPermission": {[]access.Key{{Name: "a", SHA256: hash}}, "at least one permission"},
		"UnknownPermission": {[]access.Key{{Name: "a", SHA256: hash, Permissions: []string{"root"}}},
			`unknown permission "root"`},
		"EmptyNamespace": {
			[]access.Key{{Name: "a", SHA256: hash, Permissions: []string{"read"}, Namespaces: []string{""}}},
			"namespace must not be empty"},
		"NameTwice": {[]access.Key{good, {Name: "a", SHA256: other, Permissions: []string{"read"}}},
			"the name is taken"},
		"KeyTwice": {[]access.Key{good, {Name: "b", SHA256: hash, Permissions: []string{"work"}}},
			`the same key as "a"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := access.New(c.keys)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("New = %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestEveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	_, err := access.New([]access.Key{{}, {Name: "b", SHA256: "xx", Permissions: []string{"fly"}}})
	for _, want := range []string{"key 0", "a name is required", "at least one permission", `key 1 ("b")`, `"fly"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}

func TestContext(t *testing.T) {
	t.Parallel()
	if access.From(context.Background()) != nil {
		t.Error("a bare context carries nobody")
	}
	p := &access.Principal{Name: "ann"}
	if access.From(access.With(context.Background(), p)) != p {
		t.Error("the principal was lost")
	}
}
