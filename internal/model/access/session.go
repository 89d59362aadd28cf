package access

import "time"

// Session is the time during which a key is signed in at the dashboard.
type Session struct {
	Hash      [32]byte // SHA-256 of the token that the browser has
	Key       string   // name of the key
	KeyID     string   // Principal.ID
	CreatedAt time.Time
	ExpiresAt time.Time
}
