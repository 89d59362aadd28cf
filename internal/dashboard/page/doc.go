// Package page is the kit of the dashboard's pages: a Site with pages and acts, their templates, permissions, errors,
// lists and shared looks. It is independent of tasks and letters.
//
// A family of pages is a package beside this one. It has a Family with its templates, adds its pages with Add and its
// acts with Act, and reads from a client of the API (httpapi.API.Direct), so that a page shows and does what the API
// does for the same key, without rules.
//
// A page is a template with a Load function. The kit checks the session, renders the template into the layout,
// compresses it, and answers errors in the same layout. Viewers with the same key and address share one look within a
// second: Load runs once for all. An act on this node makes every look old.
//
// A page with topics is live: when the hub reports a topic (package live), the browser requests the main part again and
// merges it.
package page
