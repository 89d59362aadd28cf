// Package posturl reads the URLs that letters are posted to, and the targets that allow them. It is pure.
//
// What is compared with a target is what is requested: both come from one [URL], which has one form for each
// destination. A text that some server or proxy could read in another way than this package is no URL here: with dot
// segments, encoded slashes, a user, or a backslash, for example.
package posturl
