// Package chain computes and checks the hash chain of the audit trail.
//
// Each act has a content hash. Each link names one act, and its hash covers the hash of the link before it:
//
//	content = SHA-256("tasker act 1" | fields of the act)
//	hash    = SHA-256("tasker link 1" | hash of the link before | seq | number of the act | sealed_at | content)
//
// The first link follows 32 zero bytes. The hash of the last link, the head, reveals any later change of the acts
// before it. The package is pure, so a program can check an audit trail without trusting the server that sends it.
package chain
