package host

import (
	"context"
	"net/url"
	"strings"
)

// Serving is the process on this host that answers at a URL, with its command line, secrets
// masked. The error says in words why it is not known.
func Serving(ctx context.Context, base *url.URL) (pid int64, command string, err error) {
	m := thisMachine()
	if pid, err = m.find(ctx, base); err != nil {
		return 0, "", err
	}
	p := m.process(pid, map[string]string{})
	return pid, maskText(strings.Join(maskCommand(p.argv, nil), " ")), nil
}
