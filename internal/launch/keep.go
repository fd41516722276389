package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// KeepVerb is the first argument of a program that Start started again as a keeper.
const KeepVerb = "keep-server"

// keeping is what a keeper is asked.
type keeping struct {
	Grace     time.Duration
	Mark      string
	Path      string
	Argv      []string
	Program   string `json:",omitempty"` // what runs the container
	Container string `json:",omitempty"` // its name; "" of none
}

// endedWell is how a server ended that nothing was wrong with.
const endedWell = "exit status 0"

// Keep starts one server and stays over it: whatever the server starts stays below this
// process, also what leaves its group, its parents and its environment. When standard
// input closes, which it does however the program on its other side ends, all of it is
// ended. What only a kill of this process leaves behind is found by its mark, unless it
// took that off too.
func Keep(args []string) int {
	// Neither is for the server that it starts.
	syscall.CloseOnExec(3)
	syscall.CloseOnExec(4)
	telling, output := os.NewFile(3, "telling"), os.NewFile(4, "output")
	tell := func(t told) {
		if line, err := json.Marshal(t); err == nil {
			_, _ = telling.Write(append(line, '\n')) // nobody may be left to hear it
		}
	}
	var k keeping
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &k) != nil || telling == nil || output == nil {
		fmt.Fprintln(os.Stderr, "measure: "+KeepVerb+" is what bench --launch starts over a server; want measure bench --launch")
		return 2
	}
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGHUP) // heard and let pass: ignored, the server would ignore them too
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	null, err := os.Open(os.DevNull)
	if err == nil {
		err = adopt()
	}
	if err != nil {
		tell(told{Error: err.Error()})
		return 1
	}
	p, err := os.StartProcess(k.Path, k.Argv, &os.ProcAttr{
		Files: []*os.File{null, output, output}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		tell(told{Error: err.Error()})
		return 1
	}
	output.Close() // its end is the server's to make
	tell(told{PID: p.Pid})
	none := make(chan struct{})
	go func() {
		defer close(none)
		for {
			var how syscall.WaitStatus
			switch pid, err := syscall.Wait4(-1, &how, 0, nil); {
			case err == syscall.EINTR:
			case err != nil: // no child is left
				return
			case pid == p.Pid:
				tell(told{Ended: words(how)})
			}
		}
	}()
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(closed)
	}()
	select {
	case <-closed:
	case <-stop:
	}
	send(p.Pid, k.Mark, below(os.Getpid()), syscall.SIGTERM)
	k.endContainer()
	select {
	case <-none:
	case <-time.After(k.Grace):
	}
	tell(told{End: &end{Left: sweep(p.Pid, k.Mark, func() []int { return below(os.Getpid()) }, k.Grace)}})
	return 0
}

func words(how syscall.WaitStatus) string {
	if how.Signaled() {
		return "signal: " + how.Signal().String()
	}
	return "exit status " + strconv.Itoa(how.ExitStatus())
}

// endContainer lets the container end by itself for a while before it is removed; that it
// is gone already is as good.
func (k *keeping) endContainer() {
	if k.Container == "" {
		return
	}
	seconds := strconv.Itoa(max(1, int(k.Grace/time.Second)))
	for _, args := range [][]string{{"stop", "-t", seconds, k.Container}, {"rm", "-f", k.Container}} {
		ctx, cancel := context.WithTimeout(context.Background(), 2*k.Grace)
		_ = exec.CommandContext(ctx, k.Program, args...).Run()
		cancel()
	}
}

// send signals a server's group, and apart from it what is below or has the mark.
func send(server int, mark string, below []int, sig syscall.Signal) {
	_ = syscall.Kill(-server, sig)
	for _, pid := range append(below, marked(mark)...) {
		if pid != os.Getpid() && group(pid) != server && alive(pid) {
			_ = syscall.Kill(pid, sig)
		}
	}
}

// sweep kills what is left of a server until nothing is, and returns what cannot be
// killed. It looks anew each time: what is being ended can still start more.
func sweep(server int, mark string, below func() []int, most time.Duration) []string {
	for last := time.Now().Add(most); ; time.Sleep(50 * time.Millisecond) {
		var left []string
		seen := map[int]bool{os.Getpid(): true}
		for _, pid := range append(append(below(), marked(mark)...), members(server)...) {
			if !seen[pid] && alive(pid) {
				left = append(left, strconv.Itoa(pid))
			}
			seen[pid] = true
		}
		if len(left) == 0 || time.Now().After(last) {
			return left
		}
		send(server, mark, below(), syscall.SIGKILL)
	}
}
