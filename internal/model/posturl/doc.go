// Package posturl reads the URLs that letters are posted to, and the targets that allow them. It is pure.
//
// The comparison and the request use one [URL], which has one form for each destination. Parse refuses a text that
// a server or proxy could read differently: dot segments, encoded slashes, a user, a backslash, for example.
package posturl
