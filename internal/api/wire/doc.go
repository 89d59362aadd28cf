// Package wire holds what the HTTP client and the workers both know about requests: how much goes into one, and what
// an error says about its items. Package tasker does not need it, so it is below remote and worker only.
package wire
