package loadgen

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"rowproof/internal/row"
)

// A server that takes no connections, as one that hangs, is given up in words.
func TestServerThatTakesNoConnection(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", at.(*unix.SockaddrInet4).Port)
	// One connection fills its queue, and nobody empties it.
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	if _, err := connect(context.Background(), address, 150*time.Millisecond, nil); err == nil || err.Error() != "connect: no connection within 150ms" {
		t.Errorf("%v", err)
	}
	base := (&counter{}).start(t)
	base.Host = strings.Replace(address, "127.0.0.1", "localhost", 1)
	spec := load(base, row.Passes, 1, 0)
	spec.Iters, spec.Connect = 1, 150*time.Millisecond
	if _, err := Run(context.Background(), spec); err == nil || !strings.Contains(err.Error(), "within 150ms") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := connect(ctx, address, time.Hour, nil); err != context.Canceled {
		t.Errorf("%v", err)
	}
}
