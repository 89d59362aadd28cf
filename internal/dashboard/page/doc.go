// Package page is the kit that the pages of the dashboard are made of: a Site with pages and acts, their templates,
// permissions, errors, lists and the looks that viewers share. It knows nothing of tasks or letters.
//
// A family of pages is a package beside this one. It has a Family with its templates, adds its pages with Add and its
// acts with Act, and gets what it shows from a client of the API (httpapi.API.Direct), so that a page shows and does
// what the API would, for the same key, and has no rule of its own.
//
// # What a page gets
//
// A page is a template with a Load function. The kit checks the session, renders the template into the layout,
// compresses it, and answers errors in the same layout. Viewers with the same key that look at the same address within
// a second share one look: Load runs once for all of them. An act of anybody at this node makes every look old.
//
// A page that names topics is live: when the hub reports a topic (package live), the browser asks for the main part of
// the page again and merges it into what it shows.
package page
