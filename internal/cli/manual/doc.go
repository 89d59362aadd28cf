// Package manual shows the documentation in a browser, from the binary: the pages of folder docs, a search over
// their sections, and the page of the HTTP API. It needs neither network nor JavaScript.
//
// A page has its file's address below /pages, so that relative links work.
package manual
