package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// A receipt whose clock is not this host's is told of before the first row.
func TestReceiptOfAnotherClock(t *testing.T) {
	f := &fake{models: []string{"m"}}
	server := f.start(t)
	for _, c := range []struct {
		name  string
		off   time.Duration
		ended string
		says  string
	}{
		{"in step", -3 * time.Second, "", ""},
		{"ahead", time.Hour, "", "ahead of this host's or more; the clocks of both hosts must agree to a second"},
		{"behind", -time.Hour, "", "its watch on gpu-7 has stopped, its file comes late, or the clock there is behind"},
		{"ended long ago", -time.Hour, "the watch was ended", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := time.Now().Add(c.off).UTC().Format(time.RFC3339Nano)
			file := &row.ReceiptFile{Schema: row.ReceiptSchema, At: at, Until: at, Ended: c.ended, Watch: true, Host: "gpu-7"}
			file.Evidence = row.Evidence{Row: -1, Zero: at}
			data, err := rowfile.EncodeReceipt(file)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Join(t.TempDir(), "receipt.json")
			if err := os.WriteFile(name, data, 0o644); err != nil {
				t.Fatal(err)
			}
			found, _, err := readReceipt(name)
			if err != nil {
				t.Fatal(err)
			}
			text := clocksAt(found, time.Now())
			if c.says == "" && text != "" || !strings.Contains(text, c.says) {
				t.Errorf("%q, want %q", text, c.says)
			}
			if c.name != "ahead" {
				return // bench would wait for the watch to go on
			}
			if _, _, stderr := quick(t, "--base-url", server.URL, "--receipt", name, "--cells", "8:2", "--concurrency", "1"); !strings.Contains(stderr, c.says) {
				t.Errorf("bench says %s", stderr)
			}
		})
	}
}
