// Package vault encrypts values of JSON documents that a set of pointers selects, with AES-256-GCM and a ring of keys.
//
// An encrypted value is a JSON text, "tasker:sealed:1:KEY:DATA". KEY is the ID of the key, DATA a random nonce of 96
// bits, the value and the tag, in base64. What is encrypted belongs to its Place and to its pointer in the document:
// moved anywhere else, it cannot be decrypted.
//
// The first key of a Ring encrypts, all decrypt. A Ring is immutable and safe for concurrent use. It is never printed:
// its methods that format it show no key.
package vault
