// Package waiting is the families of routes /v1/signals and /v1/approvals: what steps wait for that no worker does.
package waiting
