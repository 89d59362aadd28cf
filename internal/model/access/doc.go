// Package access authorizes requests. Its types are the Key of a configuration, the Keyring that
// authenticates a secret, the Permission that a key grants, and the Principal for whom a request acts.
//
// A key is 256 random bits, so its plain SHA-256 is stored. The slow, salted hashes that passwords need would
// gain nothing: there is no dictionary to try, and every request would pay for them.
//
// A Keyring never changes after New and is safe for concurrent use.
package access
