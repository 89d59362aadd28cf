// Package webhook sends signed messages to configured endpoints by the Standard Webhooks specification. It neither
// stores nor retries. Begin with endpoint.go, then sign.go and send.go.
package webhook
