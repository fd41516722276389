package render

import (
	"strings"
	"testing"
)

// A command that is too long for its column has each flag on a line of its own, with its
// value, so that no line breaks between them.
func TestWrappedCommands(t *testing.T) {
	args := strings.Fields("vllm serve m/n --max-model-len 16384 --flag --port 8000")
	if got := wrapped(args, 80); got != strings.Join(args, " ") {
		t.Errorf("one line suffices: %s", got)
	}
	if got, want := wrapped(args, 40), "vllm serve m/n \\\n  --max-model-len 16384 \\\n  --flag \\\n  --port 8000"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got, want := wrapped(strings.Fields("docker run -p 1:1 image serve"), 20), "docker run \\\n  -p 1:1 \\\n  image serve"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestServingLeavesOutInventedWeights(t *testing.T) {
	for flags, want := range map[string]string{
		"--load-format dummy --max-model-len 16384": "--max-model-len 16384",
		"--a --load-format=dummy":                   "--a",
		"--load-format safetensors":                 "--load-format safetensors",
	} {
		if got := strings.Join(loading(strings.Fields(flags)), " "); got != want {
			t.Errorf("%s: %s", flags, got)
		}
	}
}
