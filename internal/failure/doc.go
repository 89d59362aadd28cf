// Package failure says what kind of failure something is. It is pure: it imports
// the standard library only.
//
// A [Report] is what is known of a failure. It has
//
//   - a class ([ClassOf]): what a retry may help, and so how many there are;
//   - a fingerprint ([Fingerprint]): failures of one kind have the same, so that a
//     thousand of them are counted together.
package failure
