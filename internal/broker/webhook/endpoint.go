package webhook

import (
	"net/url"
	"slices"
)

const (
	// MaxEndpoints bounds the endpoints of a configuration.
	MaxEndpoints = 20
	// MaxSecrets bounds the secrets of an endpoint.
	MaxSecrets = 5
	// MaxName bounds the name of an endpoint, in bytes.
	MaxName = 64
	// MaxURL bounds the URL of an endpoint, in bytes.
	MaxURL = 2048
)

// Endpoint is a receiver of messages.
type Endpoint struct {
	Name string
	// URL begins with http:// or https://. All but its host may be a secret.
	URL string
	// Secrets all sign each message, so that a receiver can verify it with any of them. The first is the newest.
	Secrets []Secret
	// Events are types of events; empty Events or Namespaces mean all.
	Events, Namespaces []string
}

// Wants reports whether the endpoint receives events of a type in a namespace.
func (e *Endpoint) Wants(event, namespace string) bool {
	return event != "" && (len(e.Events) == 0 || slices.Contains(e.Events, event)) &&
		(len(e.Namespaces) == 0 || slices.Contains(e.Namespaces, namespace))
}

// Shown returns scheme and host of the URL: the rest may be a secret.
func (e *Endpoint) Shown() string { return ShowURL(e.URL) }

// ShowURL returns scheme and host of a URL, without user, path and query.
func ShowURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return ""
	}
	shown := u.Scheme + "://" + u.Host
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.User != nil {
		shown += "/..."
	}
	return shown
}

// URLFault returns why a text is no URL of an endpoint, or "". It does not repeat the text, which may be a secret.
func URLFault(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return "must be a URL that begins with https:// or http://"
	case len(text) > MaxURL:
		return "is too long: at most 2,048 bytes"
	case u.Fragment != "":
		return "must not have a fragment (#): it is not sent"
	}
	return ""
}
