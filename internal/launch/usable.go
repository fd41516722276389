package launch

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// asks is what each program that runs containers answers only where it can run one: docker
// once its daemon answers too.
var asks = map[string][]string{
	Docker:    {"version", "--format", "{{.Server.Version}}"},
	Podman:    {"info", "--format", "{{.Host.OS}}"},
	Apptainer: {"--version"},
}

// Usable says in words why a program cannot run containers here; nil where it can.
func Usable(ctx context.Context, program string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, asks[program]...)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if last := strings.TrimSpace(string(out)); last != "" {
		lines := strings.Split(last, "\n")
		return fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(lines[len(lines)-1]))
	}
	return fmt.Errorf("%s: %w", program, err)
}
