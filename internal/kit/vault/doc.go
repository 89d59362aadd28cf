// Package vault encrypts selected values of JSON documents, with AES-256-GCM and a ring of keys.
//
// An encrypted value is a JSON text, "tasker:sealed:1:KEY:DATA". KEY is the ID of the key, DATA a random nonce of 96
// bits, the value and the tag, in base64. It is bound to its Place and to its pointer in the document: it cannot be
// decrypted elsewhere.
//
// The first key of a Ring encrypts, all decrypt. A Ring is immutable and safe for concurrent use. Its formatting
// methods show no key.
package vault
