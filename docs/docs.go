// Package docs holds the pages of the documentation, for tasker docs.
package docs

import "embed"

// Files are the pages and their pictures.
//
//go:embed README.md CONTRIBUTING.md SECURITY.md start guides reference concepts design img
var Files embed.FS
