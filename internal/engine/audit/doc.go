// Package audit seals the audit trail: it links acts into a hash chain, reads the chain page by page for verifiers,
// and removes its archived beginning.
//
// An act is stored in the transaction of its effect and waits for no other act. A loop on one node seals it about a
// second later (Trail.Seal). See docs/design/0032-audit-chain.md.
package audit
