// Package doctest runs the commands in the documentation: the bash blocks of pages run against a real server, and their
// output is compared with the page. It has tests only.
package doctest
