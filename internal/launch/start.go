package launch

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// grace is how long a server has to end by itself before it is ended.
var grace = 30 * time.Second // tests take less

// marker names the variable that everything which a server starts inherits, also in its
// container, by which what left its group and its parents is found.
const marker = "ROWPROOF_LAUNCHED"

// drain is how long the log of a server that has ended is waited for: what outlives it may
// hold its output open.
var drain = 5 * time.Second // tests take less

// Server is one that was started, below a keeper. Both run in sessions of their own, so
// that a Ctrl-C at the terminal ends the measuring first and the server in order after it.
type Server struct {
	PID int

	mark    string // in the environment of all that it starts
	keeper  *exec.Cmd
	control io.Closer // held open: its end tells the keeper to end the server
	ended   chan struct{}
	err     error    // once ended
	done    chan end // how the keeper ended
	logged  chan struct{}
}

// told is a line of what the keeper tells, one of its fields set.
type told struct {
	PID   int    `json:"pid,omitempty"`
	Error string `json:"error,omitempty"` // it did not start
	Ended string `json:"ended,omitempty"` // how it ended by itself
	End   *end   `json:"end,omitempty"`
}

// end is what the keeper could not end: nothing, if all went well.
type end struct {
	Left []string `json:"left"`
}

// Start runs the command with its output going to log, whose Write must not fail: a server
// that cannot write dies of it. What is started ends with this program, however that ends.
func Start(c Command, o Options, log io.Writer) (*Server, error) {
	path, err := exec.LookPath(c.Argv[0])
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the server's keeper is this program started again, and its path cannot be found (%w); on Linux /proc must be mounted", err)
	}
	s := &Server{ended: make(chan struct{}), done: make(chan end, 1), logged: make(chan struct{})}
	s.mark = fmt.Sprintf("%s=%d-%d", marker, os.Getpid(), time.Now().UnixNano())
	k := keeping{Grace: grace, Mark: s.mark, Path: path, Argv: c.Argv}
	if o.Means == Docker || o.Means == Podman {
		k.Argv = append([]string{c.Argv[0], c.Argv[1], "-e", marker}, c.Argv[2:]...)
		k.Program, k.Container = o.Means, o.Name
	}
	asked, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	tells, telling, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	output, outputs, err := os.Pipe()
	if err != nil {
		tells.Close()
		telling.Close()
		return nil, err
	}
	s.keeper = exec.Command(self, KeepVerb, string(asked))
	s.keeper.Args[0] = "measure" // whatever this program was called as
	s.keeper.Env = environment(c, o, s.mark)
	s.keeper.ExtraFiles = []*os.File{telling, outputs}
	s.keeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if s.control, err = s.keeper.StdinPipe(); err == nil {
		err = s.keeper.Start()
	}
	telling.Close() // the keeper has its own
	outputs.Close()
	if err != nil {
		tells.Close()
		output.Close()
		return nil, fmt.Errorf("the server's keeper: %w", err)
	}
	go func() {
		_, _ = io.Copy(log, output)
		output.Close()
		close(s.logged)
	}()
	lines := bufio.NewScanner(tells)
	var first told
	if lines.Scan() {
		err = json.Unmarshal(lines.Bytes(), &first)
	}
	if first.PID == 0 {
		s.control.Close()
		_ = s.keeper.Wait()
		tells.Close()
		if first.Error != "" {
			return nil, errors.New(first.Error)
		}
		return nil, errors.Join(errors.New("the server's keeper ended before it started the server"), err)
	}
	s.PID = first.PID
	go s.listen(tells, lines)
	return s, nil
}

// environment is what the server is started with.
func environment(c Command, o Options, mark string) []string {
	env := append(os.Environ(), mark)
	if o.Means == Apptainer {
		env = append(env, apptainerEnv+mark)
	}
	for name, value := range c.Env {
		env = append(env, name+"="+value)
	}
	for name, from := range c.Taken {
		if value, set := os.LookupEnv(from); set {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// listen hears the keeper out.
func (s *Server) listen(tells io.ReadCloser, lines *bufio.Scanner) {
	defer tells.Close()
	defer close(s.done)
	gone := func(err error) {
		select {
		case <-s.logged: // so that the end of its log is there
		case <-time.After(drain):
		}
		s.err = err
		close(s.ended)
	}
	over := false
	for lines.Scan() {
		var t told
		if json.Unmarshal(lines.Bytes(), &t) != nil {
			continue
		}
		switch {
		case t.Ended != "" && !over:
			over = true
			var err error
			if t.Ended != endedWell {
				err = errors.New(t.Ended)
			}
			gone(err)
		case t.End != nil:
			s.done <- *t.End
		}
	}
	if !over {
		gone(errors.New("its keeper was killed"))
	}
}

// Ended is closed when the server's own process has ended; Err then says how.
func (s *Server) Ended() <-chan struct{} { return s.ended }

// Err says how the server ended, once it has.
func (s *Server) Err() error { return s.err }

// Owns says whether a process is of the server: of its group, below it, or marked.
func (s *Server) Owns(pid int) bool {
	return group(pid) == s.PID || slices.Contains(below(s.keeper.Process.Pid), pid) || slices.Contains(marked(s.mark), pid)
}

// Stop ends the server, all that it started, and waits until nothing of it is left.
func (s *Server) Stop() error {
	s.control.Close()
	left, told := <-s.done
	_ = s.keeper.Wait()
	if !told { // the keeper was killed, and orphans have gone to another
		left.Left = sweep(s.PID, s.mark, func() []int { return below(s.PID) }, grace)
	}
	select {
	case <-s.logged:
	case <-time.After(drain):
	}
	if len(left.Left) > 0 {
		return fmt.Errorf("of the server still run, and cannot be ended: %s", strings.Join(left.Left, ", "))
	}
	return nil
}
