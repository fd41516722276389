package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostile clears a terminal, begins a line of its own that answers, and turns the direction.
const hostile = "a\x1b[2J\nDecode  \u202eb\u009bc\x7f"

// Nothing that a file or a flag says reaches a terminal as it is, in an answer, for a
// person or a program, or in an error.
func TestCeilingSaysNothingForATerminal(t *testing.T) {
	folder := t.TempDir()
	put := func(name string, text []byte) string {
		name = filepath.Join(folder, name)
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	gguf, err := os.ReadFile("../../internal/checkpoint/testdata/field/lfm2.gguf")
	if err != nil {
		t.Fatal(err)
	}
	const name = "LFM2 shape, no tensors"
	bad := hostile + strings.Repeat("x", len(name)-len(hostile))
	if !bytes.Contains(gguf, []byte(name)) {
		t.Fatal("the GGUF has another name")
	}
	gguf = bytes.Replace(gguf, []byte(name), []byte(bad), 1)
	config := `{"model_type": "llama", "hidden_size": 128, "num_hidden_layers": 1, "intermediate_size": 256, "num_attention_heads": 2,
 "num_key_value_heads": 1, "head_dim": 64, "vocab_size": 64, "torch_dtype": "bfloat16"`
	quoted, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	device := put(hostile+".yaml", []byte("name: Mine\nbandwidth_gb_s: 100\nmemory_gb: 8\n"))
	for _, c := range []struct {
		name string
		code int
		args []string
	}{
		{"a GGUF's name", exitOK, []string{put("m.gguf", gguf), "--context", "64"}},
		{"a GGUF's name and what is missing", exitOK, []string{put(hostile+".gguf", gguf), "--target", "rtx-4090"}},
		{"a file's name", exitOK, []string{put(hostile+".json", []byte(config+"}")), "--target", device, "--context", "64"}},
		{"a key", exitUsage, []string{put("key.json", []byte(config+", "+string(quoted)+": 4}"))}},
		{"a value", exitUsage, []string{put("value.json", []byte(`{"model_type": `+string(quoted)+`}`))}},
		{"no text", exitUsage, []string{put("bytes.json", []byte("\x9b2J\x1b[2J"))}},
		{"a device's key", exitUsage, []string{"--model", "qwen3-8b", "--target", put("d.yaml", []byte(`"\e[2J\n\u202E": 1`))}},
		{"a device's broken text", exitUsage, []string{"--model", "qwen3-8b", "--target", put("e.yaml", []byte("name: \x1b[2J\n"))}},
		{"no such model", exitUsage, []string{"--model", hostile}},
		{"no such device", exitUsage, []string{"--model", "qwen3-8b", "--target", hostile}},
		{"no such file", exitUsage, []string{"--config", hostile, "--weights", hostile, "--target", hostile + "none.yaml"}},
		{"no such recipe", exitUsage, []string{hostile}},
		{"no such flag", exitUsage, []string{"--" + hostile}},
		{"no number", exitUsage, []string{"--model", "qwen3-8b", "--batch", hostile, "--acceptance", hostile, "--list=" + hostile}},
		{"no type", exitUsage, []string{"--model", "qwen3-8b", "--weights-dtype", hostile, "--kv-dtype", hostile, "--state-dtype", hostile}},
		{"no folder", exitUsage, []string{"--model", "qwen3-8b", "--root", hostile}},
		{"too many", exitUsage, []string{"--list", hostile}},
	} {
		for _, form := range []string{"--json=false", "--json"} {
			t.Run(c.name+" "+form, func(t *testing.T) {
				var out, said bytes.Buffer
				if code := run(context.Background(), append([]string{"ceiling", form}, c.args...), nil, &out, &said); code != c.code {
					t.Fatalf("exit code %d: %q", code, said.String())
				}
				text := out.String() + said.String()
				if i := strings.IndexFunc(text, misleads); i >= 0 {
					t.Errorf("%q reaches the terminal in %q", text[i:min(i+4, len(text))], text)
				}
				for _, line := range strings.Split(text, "\n") {
					if strings.HasPrefix(line, "Decode  \\u202e") {
						t.Errorf("a line of its own: %q", line)
					}
				}
				if form == "--json" && c.name == "a file's name" {
					var answer struct{ Query struct{ Config string } }
					if err := json.Unmarshal(out.Bytes(), &answer); err != nil || answer.Query.Config != c.args[0] {
						t.Errorf("a program reads %q, %v; want %q", answer.Query.Config, err, c.args[0])
					}
				}
			})
		}
	}
}

// The other verbs that read files of others likewise.
func TestVerbsSayNothingForATerminal(t *testing.T) {
	folder := t.TempDir()
	report := filepath.Join(folder, hostile+".json")
	if err := os.WriteFile(report, []byte(`{"schema": "`+strings.Repeat("\x1b[2J", 4)+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"check", report}, {"check", report, "--json"}, {"check", filepath.Join(folder, hostile)}, {"publish", report, "--root", folder}, {"publish", hostile},
		{"launch", hostile}, {"launch", "--root", hostile}, {"gaps", "--model", hostile}, {"gaps", hostile}, {hostile},
	} {
		var out, said bytes.Buffer
		if code := run(context.Background(), args, nil, &out, &said); code == exitOK {
			t.Errorf("%q passes", args)
		}
		if text := out.String() + said.String(); strings.IndexFunc(text, misleads) >= 0 {
			t.Errorf("%q: %q", args, text)
		}
	}
}
