// Package webhook sends signed messages to configured endpoints, as the Standard Webhooks specification says. It
// stores nothing and does not try again: its caller does. Begin with endpoint.go, then sign.go and send.go.
package webhook
