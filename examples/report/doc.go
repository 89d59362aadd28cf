// Package report is an example of a nightly report: a schedule in a zone, missed nights, a long step with a
// checkpoint, written as a shell program. See README.md.
package report
