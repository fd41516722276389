package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"rowproof/internal/engine"
	"rowproof/internal/host"
	"rowproof/internal/loadgen"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
	"rowproof/internal/version"
)

const (
	receiptWhat = `Write what this host and one server on it say of themselves: devices, processes, command
line, packages, weights, the engine's own arguments, and its counters. It is for runs whose
client sits elsewhere: beside the server by kubectl exec, srun --overlap or a sidecar.

With --watch it goes on reading devices and counters once a second until it is interrupted
or the server ends, and replaces FILE whole every few seconds. bench --receipt FILE reads
it again after each row, where both see one folder; measure import REPORT --receipt FILE
attaches it afterwards. A row believes a receipt only if the counters that it watched rose
by the row's own tokens; the clocks of both hosts must agree to a second. The gates that
this receipt leaves without an answer are named.`
	receiptExample = `measure receipt --port 8000 --watch --output receipt.json`

	watchStretch = 5 * time.Second
	watchMost    = rowfile.LargestReceipt / 4 * 3 // bytes of the file
	watchLag     = 3 * watchStretch               // that a watch's file may be behind a row's end
)

func receiptVerb(ctx context.Context, args []string, s streams) int {
	var port uint16
	var pid int64
	var watch bool
	var keyFile string
	o := &benchOptions{header: http.Header{}, timeout: 30 * time.Second}
	flags := newCollector("receipt")
	usage(flags.FlagSet, "receipt --port N [flags]", receiptWhat, receiptExample)
	flags.port(&port, 0, 1, "port that the server listens on, here")
	flags.count("pid", &pid, 1, "the server's process, in place of its port")
	flags.Lookup("pid").DefValue, pid = "", 0
	flags.add("base-url", "", "URL", "where it answers (default http://127.0.0.1:PORT)", o.setBase)
	o.declareAccess(flags, &keyFile)
	flags.StringVar(&o.output, "output", "", "write `FILE`; without it stdout")
	flags.BoolVar(&watch, "watch", false, "go on reading until interrupted")
	if code, done := flags.parse(args, s); done {
		return code
	}
	switch given := flags.Changed; {
	case flags.NArg() > 0 && flags.allKnown():
		flags.wrong("%s: want none; flags begin with --", strings.Join(flags.Args(), " "))
	case given("port") == given("pid") && flags.allKnown():
		flags.wrong("want --port of the server, or --pid of its process")
	case watch && o.output == "":
		flags.wrong("--watch without --output: want --output FILE, which grows as it goes on")
	}
	at := o.base != nil
	if !at { // readKey asks for it; where it is is told below
		o.base = &url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port)))}
	}
	o.readKey(keyFile, flags.wrong)
	if o.output != "" {
		if _, err := os.Lstat(o.output); err == nil {
			flags.wrong("--output %s: it is there and would be lost; want the name of a new file", o.output)
		} else if err := writable(o.output); err != nil {
			flags.wrong("--output %s: %v; want a file in a folder that can be written to", o.output, err)
		}
	}
	if len(flags.problems) > 0 {
		return flags.refuse(s)
	}
	s.out, s.err = &cleanWriter{w: s.out, secrets: &o.secrets}, &cleanWriter{w: s.err, secrets: &o.secrets}
	if pid != 0 && !at {
		ports, err := host.PortsOf(pid)
		switch {
		case err != nil:
			return complain(s, "receipt", exitFailed, []string{err.Error()})
		case len(ports) == 0:
			return complain(s, "receipt", exitFailed, []string{fmt.Sprintf("process %d listens on no port; want --base-url of where it answers", pid)})
		}
		o.base.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0])))
	}
	said, err := engine.Probe(ctx, o.base, o.header, o.insecure, o.timeout)
	if err != nil {
		return complain(s, "receipt", exitNoServer, []string{err.Error()})
	}
	ref := host.ServerRef{Base: o.base, PID: pid, Header: o.header, Insecure: o.insecure, Version: said.Version, Arguments: settings(said.Info), Metrics: said.Metrics, Pool: said.Pool}
	if !strings.HasPrefix(said.Engine, "unknown: ") {
		ref.Engine = said.Engine
	}
	if ref.Arguments != nil {
		ref.ArgumentsFrom = "GET " + said.InfoFrom
	}
	if len(said.Models) == 1 {
		ref.Model = oneLine(said.Models[0].ID)
	}
	zero, began := loadgen.Now(), time.Now()
	f := takeReceipt(ctx, ref, args, watch, &o.secrets)
	f.Evidence.Zero = began.UTC().Format(time.RFC3339Nano) // the times of its readings count from their beginning
	if m, err := host.Metrics(ctx, ref, zero); err == nil {
		f.Evidence.Metrics = append(f.Evidence.Metrics, m)
	}
	if ref.PID == 0 && f.Evidence.Process != nil {
		ref.PID = f.Evidence.Process.PID
	}
	if err := writeReceipt(o.output, f, s); err != nil {
		return complain(s, "receipt", exitFailed, []string{err.Error()})
	}
	tellReceipt(f, s)
	if !watch {
		return exitOK
	}
	var failed error
	f.Ended = host.Watch(ctx, ref, zero, watchStretch, func(ev row.Evidence) {
		cleanAll(&ev, o.secrets.clean)
		addReadings(f, ev)
		f.Until = time.Now().UTC().Format(time.RFC3339Nano)
		failed = errors.Join(failed, writeReceipt(o.output, f, s))
	})
	if ctx.Err() != nil {
		f.Ended = "the watch was ended"
	}
	failed = errors.Join(failed, writeReceipt(o.output, f, s))
	if failed != nil {
		return complain(s, "receipt", exitFailed, []string{failed.Error()})
	}
	fmt.Fprintf(s.err, "%s: %s; readings until %s\n", o.output, f.Ended, f.Until)
	return exitOK
}

// takeReceipt reads host and server once.
func takeReceipt(ctx context.Context, ref host.ServerRef, args []string, watch bool, masks *secrets) *row.ReceiptFile {
	for _, a := range args {
		masks.find(a)
	}
	v := version.Read()
	at := time.Now().UTC().Format(time.RFC3339Nano)
	f := &row.ReceiptFile{
		Schema: row.ReceiptSchema, At: at, Until: at, Watch: watch,
		Tool: row.Tool{Version: v.Version, Revision: v.Revision, Go: v.Go, Command: slices.Concat([]string{"measure", "receipt"}, masks.command(args)[2:])},
	}
	f.Host, _ = os.Hostname()
	f.Receipt, f.Evidence = host.Receipt(ctx, ref)
	cleanAll(&f.Receipt, masks.clean)
	cleanAll(&f.Evidence, masks.clean)
	return f
}

// addReadings takes a stretch of the watch in, and lets the oldest go where the file would
// grow too large.
func addReadings(f *row.ReceiptFile, ev row.Evidence) {
	e := &f.Evidence
	e.Devices, e.Apps, e.Metrics = append(e.Devices, ev.Devices...), append(e.Apps, ev.Apps...), append(e.Metrics, ev.Metrics...)
	if len(ev.Unread) > 0 {
		e.Unread = maps.Clone(e.Unread)
		if e.Unread == nil {
			e.Unread = map[string]string{}
		}
		maps.Copy(e.Unread, ev.Unread)
	}
	if data, err := rowfile.EncodeReceipt(f); err != nil || len(data) < watchMost {
		return
	}
	quarter := func(n int) int { return n / 4 }
	e.Devices = slices.Delete(e.Devices, 0, quarter(len(e.Devices)))
	e.Apps = slices.Delete(e.Apps, 0, quarter(len(e.Apps)))
	e.Metrics = slices.Delete(e.Metrics, 0, quarter(len(e.Metrics)))
	e.Unread["watch"] = "the oldest readings were let go: the file holds no more than " + strconv.Itoa(watchMost>>20) + " MB"
}

func writeReceipt(name string, f *row.ReceiptFile, s streams) error {
	data, err := rowfile.EncodeReceipt(f)
	if err != nil {
		return err
	}
	if name == "" {
		_, err := s.out.Write(data)
		return err
	}
	return rowfile.WriteFile(name, data)
}

// tellReceipt says what was read, and what not and why.
func tellReceipt(f *row.ReceiptFile, s streams) {
	r := &f.Receipt
	fmt.Fprintf(s.err, "%s on %s: %s", cmp.Or(strings.TrimSpace(r.Engine.Name+" "+r.Engine.Version), "a server"), f.Host, countOf(len(r.Devices), "device"))
	if p := f.Evidence.Process; p != nil {
		fmt.Fprintf(s.err, ", process %d since %s", p.PID, p.StartedAt)
	}
	fmt.Fprintln(s.err)
	for _, name := range sortedKeys(r.Unread) {
		fmt.Fprintf(s.err, "  not read: %s: %s\n", name, oneLine(r.Unread[name]))
	}
	for _, c := range receiptCloses(f) {
		fmt.Fprintf(s.err, "  cannot be judged with this receipt: %s\n    since %s\n    to open: %s\n", strings.Join(c.Gates, ", "), oneLine(c.Why), c.Open)
	}
}

// readReceipt reads the file of a receipt and its hash.
func readReceipt(name string) (*row.ReceiptFile, string, error) {
	data, err := rowfile.ReadFile(os.DirFS(filepath.Dir(name)), filepath.Base(name), rowfile.LargestReceipt)
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return nil, "", fmt.Errorf("%s: %w; want the file that measure receipt --output wrote", name, err)
	}
	f, err := rowfile.DecodeReceipt(data)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", name, err)
	}
	sum := sha256.Sum256(data)
	return f, hex.EncodeToString(sum[:]), nil
}

// watchedUntil reads the file of a receipt once its watch has gone beyond a time, or as it
// stands where it does not go on.
func watchedUntil(ctx context.Context, name string, end time.Time) (*row.ReceiptFile, error) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	give := time.Now().Add(watchLag)
	for {
		f, _, err := readReceipt(name)
		if err != nil {
			return nil, err
		}
		until, err := time.Parse(time.RFC3339Nano, f.Until)
		if !f.Watch || f.Ended != "" || err != nil || until.After(end.Add(2*row.ClocksApart*time.Microsecond)) || time.Now().After(give) {
			return f, nil
		}
		select {
		case <-ctx.Done():
			return f, nil
		case <-tick.C:
		}
	}
}
