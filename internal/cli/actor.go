package cli

import "os/user"

// actor is who acts: the one named, else the user of this process.
func actor(named string) string {
	if named != "" {
		return named
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// byWhom is an actor as he is shown: the name that was claimed and, where it is another,
// the API key that the request carried.
func byWhom(actor, key string) string {
	if key == "" || key == actor {
		return actor
	}
	return actor + " (key " + key + ")"
}
