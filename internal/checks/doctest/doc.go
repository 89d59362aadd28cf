// Package doctest runs what the documentation shows. A page that tells people
// what to type is tested like code: its bash blocks run against a real server,
// and what they print is compared with the page. It has no code of its own
// outside its tests.
package doctest
