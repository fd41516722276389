package loadgen

import (
	"net/url"
	"strings"
	"testing"
)

func TestProxiesThatWouldBeUsedAreNamed(t *testing.T) {
	for _, c := range []struct {
		env, base, want string
	}{
		{"http_proxy=http://user:s3cret@proxy:1", "http://gpu-7:8000", "HTTP_PROXY"},
		{"HTTP_PROXY=proxy:1", "http://gpu-7:8000", "HTTP_PROXY"},
		{"HTTP_PROXY=proxy:1", "https://gpu-7:8000", ""},
		{"HTTPS_PROXY=proxy:1", "https://gpu-7", "HTTPS_PROXY"},
		{"all_proxy=socks5://proxy:1", "https://[2001:db8::1]:8000", "ALL_PROXY"},
		{"http_proxy=proxy:1 ALL_PROXY=proxy:1", "http://gpu-7", "HTTP_PROXY, ALL_PROXY"},
		{"http_proxy=proxy:1 no_proxy=gpu-7", "http://gpu-7", ""},
		{"http_proxy=proxy:1 NO_PROXY=10.0.0.0/8,.example", "http://10.1.2.3:8000", ""},
		{"http_proxy=proxy:1 NO_PROXY=*", "http://gpu-7", ""},
		{"http_proxy=proxy:1", "http://localhost:8000", ""},
		{"http_proxy=proxy:1", "http://127.0.0.2:8000", ""},
		{"http_proxy=proxy:1", "http://[::1]:8000", ""},
	} {
		t.Run(c.env+" "+c.base, func(t *testing.T) {
			for _, name := range []string{"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"} {
				t.Setenv(name, "")
			}
			for _, set := range strings.Fields(c.env) {
				name, value, _ := strings.Cut(set, "=")
				t.Setenv(name, value)
			}
			base, err := url.Parse(c.base)
			if err != nil {
				t.Fatal(err)
			}
			if got := proxiesUnused(base); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
