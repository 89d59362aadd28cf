package cli

import "os/user"

// actor returns the name to record with an act: named if it is not empty, else the operating
// system's user. It returns "" if the system does not know the user, as in a container with an
// unlisted user ID. The server stores the name as a claim; only the API key of the request
// proves an identity.
func actor(named string) string {
	if named != "" {
		return named
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// byWhom formats an actor for output: the claimed name and, if the API key of the request has
// another name, that key.
func byWhom(actor, key string) string {
	if key == "" || key == actor {
		return actor
	}
	return actor + " (key " + key + ")"
}
