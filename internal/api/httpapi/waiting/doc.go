// Package waiting is the families of routes /v1/signals and /v1/approvals, for steps that no worker runs.
package waiting
