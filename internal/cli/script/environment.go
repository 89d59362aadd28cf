package script

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// inherited variables are needed to find files and speak the user's language. Others may be secrets (an API key, a
// cloud credential) and must be named.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM",
	"SSL_CERT_FILE", "SSL_CERT_DIR",
	// Windows
	"COMSPEC", "PATHEXT", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP", "USERNAME", "USERPROFILE", "APPDATA",
	"LOCALAPPDATA", "PROGRAMDATA",
}

// reserved is the prefix of Tasker's variables, such as the API key.
const reserved = "TASKER_"

// environment returns the inherited part of own plus extra, each NAME or NAME=VALUE. A NAME missing in own is
// dropped.
func environment(own, extra []string) ([]string, error) {
	values := map[string]string{}
	for _, v := range own {
		if name, value, ok := strings.Cut(v, "="); ok {
			values[canonical(name)] = value
		}
	}
	var env []string
	for name, value := range values {
		if slices.Contains(inherited, name) || strings.HasPrefix(name, "LC_") {
			env = append(env, name+"="+value)
		}
	}
	slices.Sort(env)
	for _, v := range extra {
		name, value, given := strings.Cut(v, "=")
		if err := checkName(name); err != nil {
			return nil, err
		}
		if strings.IndexByte(value, 0) >= 0 {
			return nil, fmt.Errorf("the value of the variable %s contains a NUL byte", name)
		}
		if !given {
			if value, given = values[canonical(name)]; !given {
				continue
			}
		}
		env = append(env, name+"="+value) // os/exec takes the last value of a name
	}
	return env, nil
}

func checkName(name string) error {
	switch {
	case name == "" || strings.IndexByte(name, 0) >= 0:
		return fmt.Errorf("%q is not the name of a variable: give NAME or NAME=VALUE", name)
	case strings.HasPrefix(strings.ToUpper(name), reserved):
		return fmt.Errorf("the variable %s cannot be passed on: variables that begin with %s are the worker's own; use "+
			"another name", name, reserved)
	}
	return nil
}

// Windows ignores case.
func canonical(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}
