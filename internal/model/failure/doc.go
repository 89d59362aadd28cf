// Package failure classifies failures. It is pure: it imports the standard library only.
//
// A [Report] is the known facts about a failure. It has
//
//   - a class ([ClassOf]): whether a retry may help, and so how many there are;
//   - a fingerprint ([Fingerprint]): failures of one kind have the same, so that a thousand of them are counted
//     together;
//   - a print ([PrintOf]): a fingerprint with its parts, which joins failures of tasks and of messages to groups.
//
// The inputs are texts that any program may have written, so no function here fails, looks at more than the first few
// KiB for a print, or returns a text without a bound.
//
// Begin with class.go, then fingerprint.go and print.go: frame.go finds the frame of a stack, normalise.go and scan*.go
// put marks in place of what varies in a message, and leave the codes and names that tell a cause (scan_code.go,
// scan_name.go). Cut in text.go bounds the text of a failure. What they return is stored, so testdata holds results of
// earlier versions; a change of them needs a new PrintVersion.
package failure
