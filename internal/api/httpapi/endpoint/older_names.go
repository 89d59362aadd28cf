package endpoint

import (
	"net/url"

	"github.com/taskerhq/tasker"
)

// OlderNames keeps former names of a path's parameters, mapped to the present ones. They are not in the document.
func (a *API) OlderNames(path string, names map[string]string) { a.older[path] = names }

// renameOlder replaces older names with present ones before validation. It refuses both in one request: they may
// differ.
func (a *API) renameOlder(path string, u *url.URL) error {
	older := a.older[path]
	if older == nil || u.RawQuery == "" {
		return nil
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return tasker.Errorf(tasker.CodeInvalid, "the query cannot be read: %v", err)
	}
	renamed := false
	for from, to := range older {
		if !values.Has(from) {
			continue
		}
		if values.Has(to) {
			return BadParameter("query."+from, "is the older name of "+to+": give one of them")
		}
		values[to], renamed = values[from], true
		values.Del(from)
	}
	if renamed {
		u.RawQuery = values.Encode()
	}
	return nil
}
