// Package failure classifies failures. It is pure: it imports the standard library only.
//
// A [Report] is the known facts about a failure. It has
//
//   - a class ([ClassOf]): whether a retry may help, and so how many there are;
//   - a fingerprint ([Fingerprint]): failures of one kind have the same, so that a thousand of them are counted together.
//
// Begin with class.go, then fingerprint.go. Cut in text.go bounds the text of a failure.
package failure
