//go:build !linux

package simulator

import "net"

// received reads a connection. Elsewhere than on Linux nothing tells when the kernel
// got what is read.
type received struct{ net.Conn }

func receive(c net.Conn) *received { return &received{c} }

// last is now: when the latest segment came is unknown.
func (*received) last() int64 { return now() }
