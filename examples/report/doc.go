// Package report is an example of a nightly report: a schedule in a zone, nights that were missed, a long step with a
// checkpoint, written as a program in shell. It has no Go code outside its test. See README.md.
package report
