package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	lastLines = 30 // of a log, where a server ended
	logTail   = 64 << 10
)

// serverLog is a server's output, in a file as it comes and cleaned of secrets by the
// line, with its end at hand.
type serverLog struct {
	name    string
	file    *os.File
	mu      sync.Mutex
	secrets secrets // its own: the log teaches it more
	part    []byte  // of a line
	tail    string
	written int64
	failed  error // the first write that the file did not take
}

const mostLog = 64 << 20 // bytes of the file

// What in a server's own words may be a secret, whoever set it: values under such names,
// quoted or behind a flag, and tokens by their form.
var (
	quotedValue = regexp.MustCompile(`([A-Za-z_][\w.-]*)['"]?\s*[:=]\s*['"]([^'"]{4,})['"]`)
	// A variable's name and its value, parted by blanks: the value long and with a digit in it,
	// as no word of a sentence is.
	spacedValue = regexp.MustCompile(`\b([A-Z][A-Z0-9_]{4,})[ \t]+([^\s'",]*[0-9][^\s'",]{15,}|[^\s'",]{15,}[0-9][^\s'",]*)`)
	flagValue   = regexp.MustCompile(`--?([A-Za-z][\w-]*)[ =]([^\s'",]{4,})`)
	tokenForm   = regexp.MustCompile(`\b(hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{12,}|AKIA[A-Z0-9]{16})`)
)

// masked is a text of the server's as it may be kept.
func (l *serverLog) masked(text string) string {
	l.secrets.find(text)
	for _, form := range []*regexp.Regexp{quotedValue, flagValue, spacedValue} {
		for _, m := range form.FindAllStringSubmatch(text, -1) {
			if isSecretName(m[1]) {
				l.secrets.add(m[2])
			}
		}
	}
	return spelled(tokenForm.ReplaceAllString(l.secrets.scrub(text), masked))
}

// openServerLog makes the file beside the run's others, or in a folder for such.
func openServerLog(o *benchOptions) (*serverLog, error) {
	var f *os.File
	var err error
	if o.output != "" {
		f, err = os.OpenFile(o.output+".server.log", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	} else {
		f, err = os.CreateTemp("", "rowproof-server-*.log")
	}
	if err != nil {
		return nil, refuse(exitUsage, "the server's log: %v", err)
	}
	own := secrets{texts: slices.Clone(o.secrets.texts), forms: slices.Clone(o.secrets.forms)}
	return &serverLog{name: f.Name(), file: f, secrets: own}, nil
}

// Write never fails: the server writes into a pipe that this empties, and would die of one
// that nobody does. What the disk refuses is told when the log is closed.
func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, p...)
	end := len(l.part)
	if end < logTail { // a line that never ends goes out in pieces
		end = strings.LastIndexAny(string(l.part), "\n\r") + 1
	}
	if end == 0 {
		return len(p), nil
	}
	text := l.masked(string(l.part[:end]))
	l.part = append([]byte(nil), l.part[end:]...)
	l.tail += text
	if n := len(l.tail) - logTail; n > 0 {
		l.tail = l.tail[n:]
	}
	switch before := l.written; {
	case before >= mostLog:
		return len(p), nil // its end is still at hand
	case before+int64(len(text)) >= mostLog:
		text += fmt.Sprintf("\n(no more of it is kept: it is above %d MB)\n", mostLog>>20)
	}
	l.written += int64(len(text))
	if _, err := io.WriteString(l.file, text); err != nil && l.failed == nil {
		l.failed = err
	}
	return len(p), nil
}

// close writes what is left of the last line, too. The error says that the file is not the
// whole log.
func (l *serverLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	failed := l.failed
	if l.written < mostLog {
		_, err := io.WriteString(l.file, l.masked(string(l.part)))
		failed = cmp.Or(failed, err)
	}
	l.part = nil
	if failed = cmp.Or(failed, l.file.Close()); failed != nil {
		return fmt.Errorf("the server's log is not whole: %w", failed)
	}
	return nil
}

// lines of the end of the log that hold anything.
func (l *serverLog) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for line := range strings.Lines(l.tail + l.masked(string(l.part))) {
		if line = plain(strings.TrimSpace(line)); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// end is the last of what the server said.
func (l *serverLog) end() string {
	lines := l.lines()
	if len(lines) == 0 {
		return "  (it said nothing)"
	}
	return "  " + strings.Join(lines[max(0, len(lines)-lastLines):], "\n  ")
}

// forget removes a file that nothing was written to.
func (l *serverLog) forget() {
	_ = l.close()
	_ = os.Remove(l.name)
}

// tells is the end of the log with where the rest is.
func (l *serverLog) tells() string { return "The end of its log, " + l.name + ":\n" + l.end() }

// last is the last line of it.
func (l *serverLog) last() string {
	if lines := l.lines(); len(lines) > 0 {
		return lines[len(lines)-1]
	}
	return "it has said nothing yet"
}
