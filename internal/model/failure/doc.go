// Package failure classifies failures. It is pure: it imports the standard library only.
//
// A [Report] has a class ([ClassOf]), which decides about retries; a fingerprint ([Fingerprint]), which counts
// failures of one kind together; and a print ([PrintOf]), which joins failures of tasks and messages to groups.
//
// Inputs are untrusted texts, so no function fails, reads more than the first few KiB for a print, or returns
// unbounded text.
//
// Begin with class.go, then fingerprint.go and print.go: frame.go finds the frame of a stack; normalise.go and
// scan*.go replace the parts of a message that vary and keep codes and names (scan_code.go, scan_name.go). Results
// are stored, and testdata holds those of earlier versions; changed rules need a new PrintVersion.
package failure
