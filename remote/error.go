package remote

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/taskerhq/tasker"
)

type problem struct {
	Title  string          `json:"title"`
	Detail string          `json:"detail"`
	Code   tasker.Code     `json:"code"`
	Hint   string          `json:"hint"`
	Errors []tasker.Detail `json:"errors"`
}

// problemError rebuilds the server's error. A response without a code comes from a program in front of Tasker, or
// from an older server; its status then selects the code.
func problemError(resp *http.Response, body []byte) *tasker.Error {
	e := &tasker.Error{RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	var p problem
	if json.Unmarshal(body, &p) == nil {
		e.Code, e.Hint, e.Details = p.Code, p.Hint, p.Errors
		e.Message = p.Detail
		e.Message = cmp.Or(e.Message, p.Title)
	}
	if e.Code == "" {
		e.Code = codeOfStatus(resp.StatusCode)
	}
	e.Message = cmp.Or(e.Message, "the server answers "+resp.Status)
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		e.Message += " to " + resp.Header.Get("Location")
		e.Hint = "redirects are not followed; use the address it names"
	}
	return e
}

func codeOfStatus(status int) tasker.Code {
	switch status {
	case http.StatusUnauthorized:
		return tasker.CodeUnauthenticated
	case http.StatusForbidden:
		return tasker.CodeForbidden
	case http.StatusNotFound, http.StatusGone:
		return tasker.CodeNotFound
	case http.StatusConflict:
		return tasker.CodeConflict
	case http.StatusRequestEntityTooLarge:
		return tasker.CodeTooLarge
	case http.StatusTooManyRequests:
		return tasker.CodeExhausted
	case http.StatusRequestTimeout, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return tasker.CodeUnavailable
	}
	if status >= 400 && status < 500 {
		return tasker.CodeInvalid
	}
	return tasker.CodeInternal // a redirect too: Tasker sends none
}

// retryAfter parses the header Retry-After: seconds, or a date. 0 means none.
func retryAfter(value string, now time.Time) time.Duration {
	if value == "" {
		return 0
	}
	if seconds, err := strconv.Atoi(value); err == nil {
		const day = 24 * 60 * 60
		return time.Duration(min(max(seconds, 0), day)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}
