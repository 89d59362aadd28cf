package session

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"

	"github.com/taskerhq/tasker"
)

// formCookie has the secret of form tokens without a session, as on a server without keys.
const formCookie = "tasker_form"

const nonceBytes = 16

// Token returns a token that acts must carry: another web page cannot learn it, and so cannot act in the viewer's name.
// Each one is different: pages are compressed, and the compressed length would reveal a repeated secret. It may set a
// cookie.
func (k *Keeper) Token(w http.ResponseWriter, r *http.Request) string {
	secret := formSecret(r)
	if secret == nil {
		secret = formSecret(answered(w)) // one page may have several tokens
	}
	if secret == nil {
		secret = make([]byte, tokenBytes)
		_, _ = rand.Read(secret) // never fails: it crashes the program instead
		value := base64.RawURLEncoding.EncodeToString(secret)
		http.SetCookie(w, &http.Cookie{Name: formCookie, Value: value, Path: "/", HttpOnly: true,
			SameSite: http.SameSiteStrictMode, Secure: encrypted(r)})
	}
	nonce := make([]byte, nonceBytes)
	_, _ = rand.Read(nonce)
	return base64.RawURLEncoding.EncodeToString(append(nonce, sign(secret, nonce)...))
}

// Check returns an error unless a request carries a token of its viewer: in the header X-CSRF-Token, or in the field
// csrf of its parsed form.
func (k *Keeper) Check(r *http.Request) error {
	text := r.Header.Get("X-CSRF-Token")
	if text == "" {
		text = r.PostForm.Get("csrf")
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	secret := formSecret(r)
	if err != nil || len(raw) != nonceBytes+sha256.Size || secret == nil ||
		!hmac.Equal(raw[nonceBytes:], sign(secret, raw[:nonceBytes])) {
		return &tasker.Error{Code: tasker.CodeForbidden, Message: "this page is too old to act: nothing was done",
			Hint: "load it again and repeat what you did"}
	}
	return nil
}

// formSecret returns the token of the session, or the cookie for forms; nil for none.
func formSecret(r *http.Request) []byte {
	if raw := token(r); raw != nil {
		return raw
	}
	c, err := r.Cookie(formCookie)
	if err != nil {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil || len(raw) != tokenBytes {
		return nil
	}
	return raw
}

// answered returns a request with the cookies that a response sets.
func answered(w http.ResponseWriter) *http.Request {
	r := &http.Request{Header: http.Header{}}
	for _, line := range w.Header()["Set-Cookie"] {
		if c, err := http.ParseSetCookie(line); err == nil {
			r.AddCookie(c)
		}
	}
	return r
}

func sign(secret, nonce []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write([]byte("form\x00")) // a hash takes everything
	_, _ = mac.Write(nonce)
	return mac.Sum(nil)
}
