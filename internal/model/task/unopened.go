package task

import "bytes"

// unopened begins a document that is stored encrypted and cannot be decrypted here. No JSON begins so, and it goes
// everywhere as a damaged document does. It keeps what is stored, so that a row that is saved loses nothing.
var unopened = []byte("unopened: ")

// Unopened returns a document that stands for one that cannot be decrypted, for a reason on one line.
func Unopened(reason string, stored []byte) []byte {
	out := append([]byte{}, unopened...)
	return append(append(append(out, reason...), '\n'), stored...)
}

// WhyUnopened returns the reason of a document of Unopened and what is stored. is is false for any other document.
func WhyUnopened(document []byte) (reason string, stored []byte, is bool) {
	if !bytes.HasPrefix(document, unopened) {
		return "", document, false
	}
	why, stored, _ := bytes.Cut(document[len(unopened):], []byte("\n"))
	return string(why), stored, true
}

// Readable returns a document with what can be read of it: of one that cannot be decrypted, its stored form.
func Readable(document []byte) []byte {
	_, stored, _ := WhyUnopened(document)
	return stored
}
