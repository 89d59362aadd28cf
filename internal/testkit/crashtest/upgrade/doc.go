// Package upgrade replaces nodes of an old version by those of this one in sequence, while callers and workers
// continue. The old version is the last tag, or a commit that the package names, built from the repository's history.
package upgrade
