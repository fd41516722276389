package engine

import (
	"net/http"
	"net/url"
	"strconv"
)

// stay keeps a client at the server it was given: a redirect would carry the key, and
// the measurement, to wherever an answer says.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// redirects says whether a status sends the client elsewhere.
func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// redirected tells of an answer that sends the client elsewhere: the origin alone, since
// the rest of the address may repeat a secret.
func redirected(status int, location string) string {
	s := "answered " + strconv.Itoa(status)
	switch u, err := url.Parse(location); {
	case err != nil || location == "":
	case u.Host == "":
		s += " to another path"
	default:
		scheme := ""
		if u.Scheme != "" {
			scheme = u.Scheme + "://"
		}
		s += " to " + visible([]byte(scheme+u.Host), 100)
	}
	return s + "; redirects are not followed, name the server itself"
}
