package public

import (
	"net/url"
	"strings"
)

// hiddenText stands for a secret. It is what url.URL.Redacted uses, so that logs look the same.
const hiddenText = "xxxxx"

// secretWords are parts of the names of parameters that hold secrets. A parameter that is hidden without need is
// harmless.
var secretWords = []string{"pass", "secret", "token", "key", "credential", "pwd"}

// hidden returns the URL of a broker with its secrets replaced. A URL that cannot be parsed is hidden whole.
func hidden(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return hiddenText
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), hiddenText)
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		u.RawQuery = hiddenText
		return u.String()
	}
	changed := false
	for name := range values {
		if isSecret(name) {
			values.Set(name, hiddenText)
			changed = true
		}
	}
	// Encode sorts the parameters, so a URL without secrets stays as it was given.
	if changed {
		u.RawQuery = values.Encode()
	}
	return u.String()
}

func isSecret(name string) bool {
	name = strings.ToLower(name)
	for _, word := range secretWords {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// isHidden reports whether a URL is one of which hidden replaced a secret. Such a URL comes from somebody who saved an
// answer of this API; storing it would lose the password.
func isHidden(raw string) bool {
	if raw == hiddenText {
		return true
	}
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	if password, _ := u.User.Password(); password == hiddenText {
		return true
	}
	for name, values := range u.Query() {
		if isSecret(name) && len(values) > 0 && values[0] == hiddenText {
			return true
		}
	}
	return false
}
