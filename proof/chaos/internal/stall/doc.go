// Package stall has a test only: two worker processes of the SDK, each behind a link to the server that stalls in every
// way. However late and often results arrive, no step is settled twice.
package stall
