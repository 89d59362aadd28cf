// Package upgrade replaces the nodes of an old version by those of this one, one after the other, while callers and
// workers go on. The old version is the last tag, or a commit that the package names, built from the history of the
// repository.
package upgrade
