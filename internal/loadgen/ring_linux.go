package loadgen

import (
	"encoding/binary"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A block holds about 430 segments; one that is not full is handed over after ringFlush.
// The blocks last for two seconds in which nobody empties them, and for 100,000 segments.
const (
	ringBlock  = 64 << 10
	ringBlocks = 256
	ringFrame  = 2048
	ringFlush  = 8 * time.Millisecond
	ringDrain  = 20 * time.Millisecond
	ringLinger = 3 * time.Second // that a ring waits for another run
)

// Offsets in a TPACKET_V3 block and in a packet in it.
const (
	blockStatus  = 8
	blockPackets = 12
	blockFirst   = 16
	packetNext   = 0
	packetSec    = 4
	packetNsec   = 8
	packetSnap   = 12
	packetLen    = 16
	packetNet    = 26
	packetType   = 58 // in the sockaddr_ll behind the header
)

// ring captures the headers of all that comes from one port, each with the time at
// which the kernel got it, before TCP merges segments in a receive queue. Runs that
// follow each other share one: opening and closing it takes the kernel a while.
type ring struct {
	key    ringKey
	fd     int
	mem    []byte
	clocks *clocks

	closing atomic.Bool
	ended   chan struct{}

	mu    sync.Mutex // guards what follows
	next  int        // the block to be handed over next
	seen  *epoch
	flows map[uint16][]*flow // by our port, in the order in which they were opened
	used  int64              // the most blocks that stood filled at once
}

type ringKey struct {
	port   uint16 // the server's
	blocks int
}

// rings are those open in this process.
var rings = struct {
	sync.Mutex
	of    map[ringKey]*ring
	users map[*ring]int
}{of: map[ringKey]*ring{}, users: map[*ring]int{}}

// takeRing opens a ring, or takes the one that is open. blocks may be 0. It is to be
// given back.
func takeRing(port uint16, blocks int) (*ring, error) {
	if blocks == 0 {
		blocks = ringBlocks
	}
	key := ringKey{port, blocks}
	rings.Lock()
	defer rings.Unlock()
	r := rings.of[key]
	if r == nil {
		var err error
		if r, err = openRing(key); err != nil {
			return nil, err
		}
		rings.of[key] = r
	}
	rings.users[r]++
	r.stats() // reading them sets them back to 0
	return r, nil
}

// giveBack leaves the ring to the runs that follow, and closes it when none does.
func (r *ring) giveBack() {
	rings.Lock()
	defer rings.Unlock()
	if rings.users[r]--; rings.users[r] > 0 {
		return
	}
	r.mu.Lock()
	clear(r.flows)
	r.used = 0
	r.mu.Unlock()
	time.AfterFunc(ringLinger, func() {
		rings.Lock()
		defer rings.Unlock()
		if users, open := rings.users[r]; !open || users > 0 {
			return
		}
		delete(rings.users, r)
		delete(rings.of, r.key)
		go r.close()
	})
}

// openRing begins to capture. It sees no packet until all is set up: only the last
// step, binding, names a protocol.
func openRing(key ringKey) (*ring, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket AF_PACKET", err)
	}
	c := newClocks()
	r := &ring{key: key, fd: fd, clocks: c, seen: c.cur.Load(), flows: map[uint16][]*flow{}, ended: make(chan struct{})}
	if err := r.setUp(key.port); err != nil {
		unix.Close(fd)
		return nil, err
	}
	go r.run()
	return r, nil
}

func (r *ring) setUp(port uint16) error {
	program := headersFrom(port)
	err := unix.SetsockoptSockFprog(r.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
	if err != nil {
		return os.NewSyscallError("SO_ATTACH_FILTER", err)
	}
	if err := unix.SetsockoptInt(r.fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return os.NewSyscallError("PACKET_VERSION", err)
	}
	// Loopback shows each packet as it leaves and as it comes.
	if err := unix.SetsockoptInt(r.fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		return os.NewSyscallError("PACKET_IGNORE_OUTGOING", err)
	}
	err = unix.SetsockoptTpacketReq3(r.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &unix.TpacketReq3{
		Block_size: ringBlock, Block_nr: uint32(r.key.blocks), Frame_size: ringFrame,
		Frame_nr: ringBlock / ringFrame * uint32(r.key.blocks), Retire_blk_tov: uint32(ringFlush.Milliseconds()),
	})
	if err != nil {
		return os.NewSyscallError("PACKET_RX_RING", err)
	}
	if r.mem, err = unix.Mmap(r.fd, 0, ringBlock*r.key.blocks, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return os.NewSyscallError("mmap", err)
	}
	all := uint16(unix.ETH_P_ALL)
	if err := unix.Bind(r.fd, &unix.SockaddrLinklayer{Protocol: all<<8 | all>>8}); err != nil {
		unix.Munmap(r.mem)
		return os.NewSyscallError("bind AF_PACKET", err)
	}
	return nil
}

// headersFrom is a filter that keeps TCP packets from a port, of them the IP and TCP
// headers alone. Later fragments and IPv6 extension headers are refused.
func headersFrom(port uint16) []unix.SockFilter {
	const drop = 255 // replaced by the distance to the last instruction
	load := func(size, mode uint16, k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | size | mode, K: k}
	}
	math := func(op uint16, k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_ALU | op | unix.BPF_K, K: k}
	}
	equal := func(k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	give := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_A}
	p := []unix.SockFilter{
		load(unix.BPF_B, unix.BPF_ABS, 0),
		math(unix.BPF_RSH, 4),
		equal(6, 13, 0), // to the IPv6 half
		equal(4, 0, drop),
		load(unix.BPF_B, unix.BPF_ABS, 9),
		equal(unix.IPPROTO_TCP, 0, drop),
		load(unix.BPF_H, unix.BPF_ABS, 6),
		{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: 0x1fff, Jt: drop},
		{Code: unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH, K: 0},
		load(unix.BPF_H, unix.BPF_IND, 0),
		equal(uint32(port), 0, drop),
		load(unix.BPF_B, unix.BPF_IND, 12),
		math(unix.BPF_AND, 0xf0),
		math(unix.BPF_RSH, 2),
		{Code: unix.BPF_ALU | unix.BPF_ADD | unix.BPF_X},
		give,
		load(unix.BPF_B, unix.BPF_ABS, 6),
		equal(unix.IPPROTO_TCP, 0, drop),
		load(unix.BPF_H, unix.BPF_ABS, 40),
		equal(uint32(port), 0, drop),
		load(unix.BPF_B, unix.BPF_ABS, 52),
		math(unix.BPF_AND, 0xf0),
		math(unix.BPF_RSH, 2),
		math(unix.BPF_ADD, 40),
		give,
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	}
	for i := range p {
		to := uint8(len(p) - 1 - (i + 1))
		if p[i].Jt == drop {
			p[i].Jt = to
		}
		if p[i].Jf == drop {
			p[i].Jf = to
		}
	}
	return p
}

// run takes blocks as they are handed over. It sleeps between two looks, so that blocks
// fill and wake nobody.
func (r *ring) run() {
	defer close(r.ended)
	// The thread is this goroutine's own and ends with it. Where that is allowed, it
	// goes before others: a ring that nobody empties in time loses stamps.
	runtime.LockOSThread()
	goFirst()
	pause := unix.NsecToTimespec(int64(ringDrain))
	for !r.closing.Load() {
		_ = unix.Nanosleep(&pause, nil)
		r.mu.Lock()
		r.take()
		r.mu.Unlock()
	}
}

// status is the word of a block that says whose it is.
func (r *ring) status(block int) *uint32 {
	return (*uint32)(unsafe.Pointer(&r.mem[block*ringBlock+blockStatus]))
}

// take empties the blocks that are ours.
func (r *ring) take() {
	filled := 0
	for filled < r.key.blocks && atomic.LoadUint32(r.status((r.next+filled)%r.key.blocks))&unix.TP_STATUS_USER != 0 {
		filled++
	}
	r.used = max(r.used, int64(filled))
	for ; atomic.LoadUint32(r.status(r.next))&unix.TP_STATUS_USER != 0; r.next = (r.next + 1) % r.key.blocks {
		block := r.mem[r.next*ringBlock : (r.next+1)*ringBlock]
		// A block that was filled across a step of the wall clock holds stamps of both
		// sides of it.
		e, _ := r.clocks.current()
		stepped := r.seen != e
		r.seen = e
		at := binary.NativeEndian.Uint32(block[blockFirst:])
		for range binary.NativeEndian.Uint32(block[blockPackets:]) {
			packet := block[at:]
			when := int64(binary.NativeEndian.Uint32(packet[packetSec:]))*1e9 +
				int64(binary.NativeEndian.Uint32(packet[packetNsec:])) - e.offset
			if stepped {
				when = Unstamped
			}
			if packet[packetType] != unix.PACKET_OUTGOING {
				net := uint32(binary.NativeEndian.Uint16(packet[packetNet:]))
				snap := binary.NativeEndian.Uint32(packet[packetSnap:])
				r.packet(packet[net:net+snap], int64(binary.NativeEndian.Uint32(packet[packetLen:])), when)
			}
			at += binary.NativeEndian.Uint32(packet[packetNext:])
		}
		atomic.StoreUint32(r.status(r.next), unix.TP_STATUS_KERNEL)
	}
}

// packet takes in the headers of one packet that was length bytes long.
func (r *ring) packet(h []byte, length, at int64) {
	var head int
	switch {
	case len(h) >= 40 && h[0]>>4 == 4:
		head = int(h[0]&0xf) * 4
		// The length that IP states: links pad short packets.
		if n := int64(binary.BigEndian.Uint16(h[2:])); n != 0 {
			length = n
		}
	case len(h) >= 60 && h[0]>>4 == 6:
		head = 40
		if n := int64(binary.BigEndian.Uint16(h[4:])); n != 0 {
			length = n + 40
		}
	default:
		return
	}
	tcp := h[head:]
	if len(tcp) < 20 {
		return
	}
	ours := binary.BigEndian.Uint16(tcp[2:])
	seq := binary.BigEndian.Uint32(tcp[4:])
	n := length - int64(head) - int64(tcp[12]>>4)*4
	const syn, ack = 0x02, 0x10
	if tcp[13]&(syn|ack) == syn|ack {
		of := r.flows[ours]
		if len(of) == 0 || of[len(of)-1].isn != seq+1 { // else sent again, or seen on a second interface
			r.flows[ours] = append(of, &flow{opened: at, isn: seq + 1})
		}
		return
	}
	if n <= 0 {
		return
	}
	of := r.flows[ours]
	if len(of) == 0 {
		return // opened before us: not a connection of ours
	}
	of[len(of)-1].add(seq, n, at)
}

// close ends the capture.
func (r *ring) close() {
	r.closing.Store(true)
	<-r.ended
	unix.Munmap(r.mem)
	unix.Close(r.fd)
}

// stats are the packets dropped since they were last asked for.
func (r *ring) stats() (drops int64) {
	if s, err := unix.GetsockoptTpacketStatsV3(r.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		drops = int64(s.Drops)
	}
	return drops
}

// settle waits until what the connections have brought is in the flows too, or was lost:
// a block is handed over ringFlush after its first packet at the latest.
func (r *ring) settle(conns []*conn) {
	for end := Now() + 5*int64(ringFlush); ; time.Sleep(ringFlush / 4) {
		r.mu.Lock()
		r.take()
		behind := false
		for _, c := range conns {
			f := r.find(c)
			behind = behind || f == nil || f.hi < c.socket.got()
		}
		r.mu.Unlock()
		if !behind || Now() > end {
			return
		}
	}
}

// sees says whether the ring saw any of the connections being opened.
func (r *ring) sees(conns []*conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(conns, func(c *conn) bool { return r.find(c) != nil })
}

// find is what the ring saw of a connection; nil when it saw none. A port that was used
// again is told apart by when each connection on it was opened.
func (r *ring) find(c *conn) *flow {
	var f *flow
	for _, x := range r.flows[c.port] {
		if x.opened <= c.dialed {
			f = x
		}
	}
	return f
}

// flow takes out what the ring saw of a connection, settled.
func (r *ring) flow(c *conn) (segs []segment, seen bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.find(c)
	if f == nil {
		return nil, false
	}
	segs = f.settle()
	*f = flow{opened: f.opened, isn: f.isn, hi: f.hi, end: f.hi} // its bytes are not needed twice
	return segs, true
}

// mostFilled is how many blocks stood filled at once.
func (r *ring) mostFilled() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.used
}
