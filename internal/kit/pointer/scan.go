package pointer

import "strings"

// Start returns where the next value of a valid JSON document begins, at or after i: behind white space.
func Start(doc []byte, i int) int {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\n' || doc[i] == '\r' || doc[i] == '\t') {
		i++
	}
	return i
}

// End returns the place behind the value that begins at i in a valid JSON document. It does not recurse: documents may
// be nested deeply.
func End(doc []byte, i int) int {
	for depth := 0; i < len(doc); {
		switch doc[i] {
		case '"':
			for i++; doc[i] != '"'; i++ {
				if doc[i] == '\\' {
					i++
				}
			}
			i++
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			depth--
			i++
		case ' ', '\n', '\r', '\t', ',', ':':
			i++
			continue
		default: // a number, true, false or null
			for i++; i < len(doc) && strings.IndexByte(",]} \n\r\t", doc[i]) < 0; i++ {
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}
