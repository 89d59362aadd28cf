// Package access decides who may do what: API keys, what each permits, and the
// principal that a request acts for.
//
// A key is 256 random bits, so it is stored as its plain SHA-256. The slow,
// salted hashes that passwords need would buy nothing: there is no dictionary
// to try, and every request would pay for them.
//
// A Keyring never changes after New and is safe for concurrent use.
package access
