package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"rowproof/internal/row"
	"rowproof/internal/rowfile"
	"rowproof/internal/rowtest"
)

// A run whose client sat elsewhere is verified once the receipt that was watched beside its
// server is attached; the receipt of another stretch of time ties to nothing.
func TestReceiptIsAttachedAfterwards(t *testing.T) {
	dir := t.TempDir()
	r, samples, evidence := rowtest.Report(5, rowtest.Options{Cells: []rowtest.Cell{{ISL: 128, OSL: 16, Concurrency: 4}}})
	zero, err := time.Parse(time.RFC3339Nano, evidence[1].Zero)
	if err != nil {
		t.Fatal(err)
	}
	begun := zero.Add(-30 * time.Second)
	file := &row.ReceiptFile{Schema: row.ReceiptSchema, At: begun.Format(time.RFC3339Nano), Until: begun.Add(time.Hour).Format(time.RFC3339Nano),
		Ended: "the watch was ended", Watch: true, Host: "gpu-7", Tool: r.Tool, Receipt: r.Receipt, Evidence: evidence[0]}
	file.Receipt.EvidenceSHA256 = ""
	file.Evidence.Zero = file.At
	// What the run read of the server's host was read beside it, and the run itself saw only
	// the server's address.
	for i := range evidence[1:] {
		ev := &evidence[i+1]
		at, err := time.Parse(time.RFC3339Nano, ev.Zero)
		if err != nil {
			t.Fatal(err)
		}
		shift := at.Sub(begun).Microseconds()
		for _, d := range ev.Devices {
			d.At, d.When = d.At+shift, row.During
			file.Evidence.Devices = append(file.Evidence.Devices, d)
		}
		for _, a := range ev.Apps {
			a.At, a.When = a.At+shift, row.During
			file.Evidence.Apps = append(file.Evidence.Apps, a)
		}
		lasted := row.Lasted(samples[i])
		for _, m := range ev.Metrics {
			switch m.When {
			case row.Before:
				m.At = -2 * row.ClocksApart
			case row.After:
				m.At = lasted + 2*row.ClocksApart
			}
			m.At, m.When = m.At+shift, row.During
			file.Evidence.Metrics = append(file.Evidence.Metrics, m)
		}
		ev.Devices, ev.Apps = nil, nil
	}
	r.Receipt = row.Receipt{
		Engine:  row.EngineReceipt{Name: r.Receipt.Engine.Name, Version: r.Receipt.Engine.Version, Model: r.Receipt.Engine.Model, Arguments: map[string]string{}},
		Weights: row.WeightsReceipt{Source: "unknown"}, Devices: []row.Device{}, Host: row.Host{Kernel: "6.12.0", CPU: "Test CPU", Cores: 4},
		Runtime: row.RuntimeReceipt{Kind: "unknown", Packages: map[string]string{}}, Unread: map[string]string{"engine.command_line": "the server is not on this host"},
	}
	evidence[0].Process = nil
	rowtest.Seal(r, samples, evidence)
	if err := rowtest.WriteAs(filepath.Join(dir, "run.json"), r, samples, evidence); err != nil {
		t.Fatal(err)
	}
	write := func(name string) {
		data, err := rowfile.EncodeReceipt(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write("receipt.json")
	run := func(verb func(context.Context, []string, streams) int, args ...string) (int, string) {
		var out, errs bytes.Buffer
		code := verb(context.Background(), args, streams{out: &out, err: &errs})
		return code, out.String() + errs.String()
	}
	if code, text := run(check, filepath.Join(dir, "run.json")); code == exitOK || !strings.Contains(text, "cannot be judged label") {
		t.Errorf("without a receipt: %d\n%s", code, text)
	}
	if code, text := run(importVerb, filepath.Join(dir, "run.json"), "--receipt", filepath.Join(dir, "receipt.json"), "--output", filepath.Join(dir, "tied")); code != exitOK {
		t.Errorf("with it: %d\n%s", code, text)
	}
	if code, text := run(check, filepath.Join(dir, "tied.json")); code != exitOK || strings.Count(text, ": verified") != 1 {
		t.Errorf("with it: %d\n%s", code, text)
	}
	if code, text := run(importVerb, filepath.Join(dir, "tied.json"), "--receipt", filepath.Join(dir, "receipt.json"), "--output", filepath.Join(dir, "again")); code != exitFailed || !strings.Contains(text, "has a receipt already, taken on gpu-7") {
		t.Errorf("twice: %d\n%s", code, text)
	}
	// A twin server whose process tells no start, and whose counters rise by as much.
	shifted := func(by float64) {
		for _, m := range file.Evidence.Metrics {
			for name := range m.Values {
				if strings.Contains(name, "generation_tokens_total") {
					m.Values[name] += by
				}
			}
		}
	}
	shifted(1e6)
	write("twin.json")
	if code, text := run(importVerb, filepath.Join(dir, "run.json"), "--receipt", filepath.Join(dir, "twin.json"), "--output", filepath.Join(dir, "refused")); code != exitFailed || !strings.Contains(text, "the receipt is of another server: its counter of generated tokens stood at") {
		t.Errorf("of a twin: %d\n%s", code, text)
	}
	shifted(-1e6)
	file.Evidence.Zero = begun.Add(-2 * time.Hour).Format(time.RFC3339Nano)
	write("late.json")
	if code, text := run(importVerb, filepath.Join(dir, "run.json"), "--receipt", filepath.Join(dir, "late.json"), "--output", filepath.Join(dir, "missed")); code != exitFailed || !strings.Contains(text, "label cannot be judged") {
		t.Errorf("of another time: %d\n%s", code, text)
	}
	if code, text := run(importVerb, filepath.Join(dir, "run.json"), "--receipt", filepath.Join(dir, "run.json"), "--output", filepath.Join(dir, "wrong")); code != exitFailed || !strings.Contains(text, `whose schema is "rowproof-receipt/1"`) {
		t.Errorf("no receipt: %d\n%s", code, text)
	}
}

// A server that wants a key or has a certificate of its own is asked as bench asks it, and
// the key stands in no word of the receipt.
func TestReceiptOfAServerWithAKey(t *testing.T) {
	const key = "sk-of-this-server-0123456789"
	f := &fake{models: []string{"m"}, key: key}
	plain, secure := f.start(t), httptest.NewUnstartedServer(f)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	t.Setenv("OPENAI_API_KEY", "")
	dir := t.TempDir()
	keyFile := filepath.Join(dir, "key")
	if err := os.WriteFile(keyFile, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		server *httptest.Server
		args   []string
		code   int
		says   string
	}{
		{plain, nil, exitNoServer, "401"},
		{plain, []string{"--api-key-file", keyFile}, exitOK, ""},
		{plain, []string{"--header", "Authorization: Bearer " + key}, exitOK, ""},
		{plain, []string{"--api-key-file", filepath.Join(dir, "none")}, exitUsage, "no such file or directory; want a file that holds the key alone"},
		{secure, []string{"--api-key-file", keyFile}, exitNoServer, "certificate"},
		{secure, []string{"--api-key-file", keyFile, "--insecure"}, exitOK, ""},
	} {
		file := filepath.Join(dir, fmt.Sprintf("receipt.%d.json", i))
		_, port, _ := strings.Cut(strings.TrimPrefix(c.server.URL, "http"), "127.0.0.1:")
		args := append([]string{"--port", port, "--base-url", c.server.URL, "--output", file}, c.args...)
		var out, errs bytes.Buffer
		code := receiptVerb(context.Background(), args, streams{out: &out, err: &errs})
		text := out.String() + errs.String()
		if code != c.code || !strings.Contains(text, c.says) || strings.Contains(text, key) {
			t.Errorf("%v: %d\n%s", c.args, code, text)
		}
		if code != exitOK {
			continue
		}
		r, _, err := readReceipt(file)
		if err != nil {
			t.Fatal(err)
		}
		if r.Receipt.Engine.Model != "m" || slices.Contains(r.Tool.Command, "bench") {
			t.Errorf("%v: model %q, command %q", c.args, r.Receipt.Engine.Model, r.Tool.Command)
		}
		if data, _ := os.ReadFile(file); bytes.Contains(data, []byte(key)) {
			t.Errorf("%v: the key stands in the receipt", c.args)
		}
	}
}
