package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// terminal opens a pseudo-terminal: what is written to tty is read from the other side.
func terminal(t *testing.T) (other, tty *os.File) {
	t.Helper()
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	if err := unix.IoctlSetPointerInt(int(other.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(other.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 160}); err != nil {
		t.Fatal(err)
	}
	return other, tty
}

func TestBenchShowsProgressOnATerminal(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "")
	other, tty := terminal(t)
	shown := make(chan string)
	go func() {
		var b bytes.Buffer
		b.ReadFrom(other) // ends with an error once the terminal is closed
		shown <- b.String()
	}()
	var stdout bytes.Buffer
	code := run(t.Context(), []string{"bench", "--cells", "16:40,17:40", "--concurrency", "1"}, nil, &stdout, tty)
	tty.Close()
	text := <-shown
	if code != exitOK {
		t.Fatalf("exit %d: %s", code, text)
	}
	for _, want := range []string{"0 of 2 rows, 0s; 16:40 at c=1", "0 of 2 rows, 0s, about ", "1 of 2 rows, ", " of 3 requests, about ", ", TTFT ", ", ITL ", " tok/s"} {
		if !strings.Contains(text, want) {
			t.Errorf("never shown: %q", want)
		}
	}
	if table := text[strings.LastIndex(text, "\x1b[K"):]; !strings.HasPrefix(table, "\x1b[K\r\nshape ") {
		t.Errorf("the table stands behind what is left of the progress: %q", table)
	}
	if strings.ContainsAny(stdout.String(), "\r\x1b") {
		t.Error("progress went to stdout")
	}
}
