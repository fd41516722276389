package loadgen

import (
	"net/url"
	"os"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

// proxiesUnused names what in the environment would send others through a proxy on their
// way to a server. It is never used: the server itself is measured. A value may hold a
// password, and is not told.
func proxiesUnused(base *url.URL) string {
	scheme := "HTTP_PROXY"
	if base.Scheme == "https" {
		scheme = "HTTPS_PROXY"
	}
	var set []string
	for _, name := range []string{scheme, "ALL_PROXY"} {
		value := variable(name)
		rule := httpproxy.Config{HTTPProxy: value, HTTPSProxy: value, NoProxy: variable("NO_PROXY")}
		if p, err := rule.ProxyFunc()(base); p != nil || err != nil {
			set = append(set, name)
		}
	}
	return strings.Join(set, ", ")
}

// variable reads a variable of the environment by either spelling.
func variable(name string) string {
	if v := os.Getenv(strings.ToLower(name)); v != "" {
		return v
	}
	return os.Getenv(name)
}
