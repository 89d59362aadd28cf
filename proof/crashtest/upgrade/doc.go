// Package upgrade replaces the nodes of an old version by those of a newer one, one after the other, while callers and
// workers go on. The old version is the last tag, built from the history of the repository, or this version while there
// is none. The newer one is this version with one migration more, so that the test needs no old schema to prove that
// nodes survive a new one.
package upgrade
