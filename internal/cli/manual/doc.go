// Package manual shows the documentation in a browser, from the binary: the pages of folder docs, a search over their
// sections, and the page of the HTTP API. It works without a network and without JavaScript.
//
// A page has the address of its file below /pages, so that relative links of Markdown work as they are written.
package manual
