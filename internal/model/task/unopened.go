package task

import "bytes"

// unopened begins a document that cannot be decrypted here. No JSON begins so, and it passes as a damaged document.
// It keeps the stored bytes, so that saving the row loses nothing.
var unopened = []byte("unopened: ")

// Unopened replaces an undecryptable document, for a reason on one line.
func Unopened(reason string, stored []byte) []byte {
	out := append([]byte{}, unopened...)
	return append(append(append(out, reason...), '\n'), stored...)
}

// WhyUnopened returns the reason and the stored bytes; is is false for other documents.
func WhyUnopened(document []byte) (reason string, stored []byte, is bool) {
	if !bytes.HasPrefix(document, unopened) {
		return "", document, false
	}
	why, stored, _ := bytes.Cut(document[len(unopened):], []byte("\n"))
	return string(why), stored, true
}

// Readable returns the stored form of an undecryptable document, and other documents unchanged.
func Readable(document []byte) []byte {
	_, stored, _ := WhyUnopened(document)
	return stored
}
