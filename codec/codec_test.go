package codec_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/taskerhq/tasker/codec"
)

func parse(t testing.TB, lines ...string) *codec.AESGCM {
	t.Helper()
	c, err := codec.Parse(strings.Join(lines, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func key(t testing.TB, id string) string {
	t.Helper()
	line, err := codec.GenerateKey(id)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func TestCodecRotation(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	a, b := key(t, "a"), key(t, "b")
	before, err := parse(t, a).Encode(ctx, []byte(`"4111"`))
	if err != nil || before.Key != "a" || strings.Contains(string(before.Data), "4111") {
		t.Fatalf("encoded as %+v, %v", before, err)
	}
	both := parse(t, b, a)
	if back, err := both.Decode(ctx, before); err != nil || string(back) != `"4111"` {
		t.Errorf("with both keys: %s, %v", back, err)
	}
	after, _ := both.Encode(ctx, []byte(`"4111"`))
	var missing *codec.MissingKeyError
	if _, err := parse(t, a).Decode(ctx, after); after.Key != "b" || !errors.As(err, &missing) || missing.ID != "b" {
		t.Errorf("without the new key: %+v, %v", after, err)
	}
	if _, err := parse(t, key(t, "a")).Decode(ctx, before); err == nil || errors.As(err, &missing) {
		t.Errorf("with another key of the same ID: %v", err)
	}
	if again, _ := parse(t, a).Encode(ctx, []byte(`"4111"`)); string(again.Data) == string(before.Data) {
		t.Error("two encodings of one value are equal")
	}
	for i := range before.Data {
		changed := before
		changed.Data = []byte(string(before.Data))
		changed.Data[i] ^= 1
		if back, err := both.Decode(ctx, changed); err == nil {
			t.Fatalf("with byte %d changed: %s", i, back)
		}
		changed.Data = before.Data[:i]
		if back, err := both.Decode(ctx, changed); err == nil {
			t.Fatalf("cut to %d bytes: %s", i, back)
		}
	}
	if shown := fmt.Sprintf("%v %+v %#v %s", both, both, both, both); strings.Contains(shown, strings.Fields(a)[1]) {
		t.Errorf("a key is shown: %s", shown)
	}
}

func TestCodecKeys(t *testing.T) {
	t.Parallel()
	secret := strings.Fields(key(t, "a"))[1]
	for _, bad := range []string{"", "a", "a AAAA", "A " + secret, "a " + secret + "\na " + secret} {
		if _, err := codec.Parse(bad); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if line, err := codec.GenerateKey("Not one"); err == nil {
		t.Errorf("a key for a wrong ID: %s", line)
	}
}

// vector is from docs/guides/encryption.md.
const (
	vectorKey   = "2026-01 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	vectorPlain = `{"number":"4111 1111 1111 1111"}`
	vectorNonce = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3"
	vector      = `{"$tasker.codec":"aes-256-gcm","key":"2026-01","data":"` +
		`ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3kPfVOJ836R6MrAaVJtidVX0l6Z2z03CzjdUh1kSYI9dDXluEWhm/fpjZpDI0iuTY"}`
)

// The format of docs/guides/encryption.md, in the few lines that another language needs.
func TestCodecFormat(t *testing.T) {
	t.Parallel()
	id, secret, _ := strings.Cut(vectorKey, " ")
	seal := func(nonce, plain []byte) []byte {
		raw, err := base64.StdEncoding.DecodeString(secret)
		if err != nil {
			t.Fatal(err)
		}
		mac := hmac.New(sha256.New, raw)
		mac.Write(append([]byte("tasker codec 1\x00"), nonce[:12]...))
		block, err := aes.NewCipher(mac.Sum(nil))
		if err != nil {
			t.Fatal(err)
		}
		gcm, err := cipher.NewGCM(block)
		if err != nil {
			t.Fatal(err)
		}
		return gcm.Seal(append([]byte{}, nonce...), nonce[12:], plain, []byte("aes-256-gcm\x00"+id))
	}
	nonce, err := base64.StdEncoding.DecodeString(vectorNonce)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(struct {
		Codec string `json:"$tasker.codec"`
		Key   string `json:"key"`
		Data  []byte `json:"data"`
	}{codec.Name, id, seal(nonce, []byte(vectorPlain))})
	if string(want) != vector {
		t.Errorf("the vector is %s, want %s", vector, want)
	}
	c := parse(t, vectorKey)
	out, err := c.Encode(context.Background(), []byte("null"))
	if err != nil || string(seal(out.Data[:24], []byte("null"))) != string(out.Data) {
		t.Errorf("encoded otherwise: %x, %v", out.Data, err)
	}
}
