package host

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
	"time"
)

// A server that goes on with cancelled requests is waited for; one whose gauge stays as it
// was is at rest; one that never comes to rest is told of.
func TestSettle(t *testing.T) {
	for _, c := range []struct {
		name  string
		says  func(n int64) string
		asked int64 // readings at least
		left  int64
	}{
		{"at rest", func(int64) string { return "sglang:num_running_reqs 0" }, 1, 0},
		{"still at work", func(n int64) string {
			return fmt.Sprintf("sglang:num_running_reqs %d\nsglang:generation_tokens_total %d", max(0, 5-n), n)
		}, 5, 0},
		{"a gauge left standing", func(int64) string { return "sglang:num_running_reqs 1\nsglang:generation_tokens_total 9" }, 3, 0},
		{"never at rest", func(n int64) string {
			return fmt.Sprintf("sglang:num_running_reqs 7\nsglang:generation_tokens_total %d", n)
		}, 5, 7},
		{"says nothing", func(int64) string { return "" }, 1, 0},
	} {
		var asked atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, c.says(asked.Add(1)))
		}))
		base, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		left := settle(context.Background(), newScraper(ServerRef{Base: base}), time.Millisecond, 50*time.Millisecond, 300*time.Millisecond)
		server.Close()
		if left != c.left || asked.Load() < c.asked {
			t.Errorf("%s: %d left after %d readings, want %d after %d or more", c.name, left, asked.Load(), c.left, c.asked)
		}
	}
}
