package task

// ValidTraceParent reports whether a text is a W3C trace context in lower-case hexadecimal; only the flags may be
// zero.
func ValidTraceParent(s string) bool {
	if len(s) != 55 || s[2] != '-' || s[35] != '-' || s[52] != '-' || s[:2] == "ff" {
		return false
	}
	return isHex(s[:2]) && isHex(s[53:]) && isHex(s[3:35]) && !isZero(s[3:35]) && isHex(s[36:52]) && !isZero(s[36:52])
}

func isHex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func isZero(s string) bool {
	for _, c := range []byte(s) {
		if c != '0' {
			return false
		}
	}
	return true
}
