package main

import (
	"strings"
	"testing"

	"rowproof/internal/row"
)

func TestBenchFindsTheModelByAnyOfItsNames(t *testing.T) {
	c, err := readCatalog("")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct{ asked, served, want, says string }{
		{"", "only", "only", ""},
		{"", "a b", "", "want one of: a, b"},
		{"", "", "", "serves no model"},
		{"llama-3.1-8b", "x llama-3.1-8b", "llama-3.1-8b", ""},
		{"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b x", "llama-3.1-8b", ""},
		{"llama-3.1-8b", "meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct", ""},
		{"llama-3.1-8b", "/models/Llama-3.1-8B", "/models/Llama-3.1-8B", ""},
		{"qwen3-8b", "llama-3.1-8b", "", "MODEL qwen3-8b: the server does not serve it; want one of: llama-3.1-8b"},
		{"mine", "MINE", "MINE", ""},
	} {
		got, err := chooseModel(c, k.asked, strings.Fields(k.served))
		if got != k.want || (err == nil) != (k.says == "") || err != nil && !strings.Contains(err.Error(), k.says) {
			t.Errorf("asked %q of %q: got %q, %v", k.asked, k.served, got, err)
		}
	}
	if m := knownModel(c, "/models/Llama-3.1-8B-Instruct"); m != nil {
		t.Error("a path's last part alone is not a repository")
	}
	if m := knownModel(c, "/models/llama-3.1-8b"); m == nil || m.Architecture.Vocabulary != 128256 {
		t.Errorf("a folder named by the catalogue's id is not known: %v", m)
	}
}

// A model without a server is told the recipe of the devices that are here first.
func TestModelWithoutAServerIsToldTheRecipeOfThisHost(t *testing.T) {
	c, err := readCatalog("")
	if err != nil {
		t.Fatal(err)
	}
	h200 := row.Device{Name: "NVIDIA H200"}
	for _, k := range []struct {
		devices []row.Device
		says    string
	}{
		{[]row.Device{h200, {Name: "NVIDIA A10"}}, "; for NVIDIA H200, which this host has:\n"},
		{[]row.Device{{Name: "NVIDIA A10"}}, "choose the one for yours, such as:\n"},
		{nil, "choose the one for yours, such as:\n"},
	} {
		got := withoutServer(c, "llama-3.1-8b", k.devices)
		if !strings.Contains(got, k.says) {
			t.Errorf("with %v:\n%s\nwant %q", k.devices, got, k.says)
		}
		if len(k.devices) == 2 && !strings.Contains(got, " --recipe llama-3.1-8b/h200-sxm/") {
			t.Errorf("not the recipe of this host:\n%s", got)
		}
		if want := "  (its weights are random: llama-3.1-8b is a folder of the working directory that holds config.json and the tokenizer)\n"; !strings.Contains(got, want) {
			t.Errorf("the folder of random weights is not explained:\n%s", got)
		}
		if lines := strings.Count(got, "\n  llama-3.1-8b/"); lines != len(recipesOf(c, "llama-3.1-8b"))-1 {
			t.Errorf("%d other recipes a line:\n%s", lines, got)
		}
	}
}
