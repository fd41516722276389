package main

import (
	"os"
	"strings"
	"testing"
)

// A disk that is full does not end the server: its output is read on, its end is at hand,
// and that the file lacks it is told.
func TestServerLogOnAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	l := &serverLog{name: "run.server.log", file: full}
	for _, line := range []string{"one\n", "two\n"} {
		if n, err := l.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	if got := l.tells(); !strings.Contains(got, "  one\n  two") {
		t.Errorf("%s", got)
	}
	if err := l.close(); err == nil || !strings.Contains(err.Error(), "the server's log is not whole: write /dev/full: no space left on device") {
		t.Errorf("closed with %v", err)
	}
}
