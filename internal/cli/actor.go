package cli

import "os/user"

// actor returns the name to record with an act: named, else the operating system's user, else "", as in a container
// with an unlisted user ID. The server stores it as a claim; only the API key proves an identity.
func actor(named string) string {
	if named != "" {
		return named
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// byWhom formats the claimed name and, if it differs, the name of the API key.
func byWhom(actor, key string) string {
	if key == "" || key == actor {
		return actor
	}
	return actor + " (key " + key + ")"
}
