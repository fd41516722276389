package browsertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience bounds one action in the browser; only a failing test ever waits that long.
const patience = 30 * time.Second

// browser is the one Chromium that all tests share, started on first use.
var browser struct {
	once sync.Once
	ctx  context.Context
	err  error
	stop []func()
}

func startBrowser() (context.Context, error) {
	browser.once.Do(func() {
		var path string
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
			if p, err := exec.LookPath(name); err == nil {
				path = p
				break
			}
		}
		if path == "" {
			browser.err = errors.New("no Chromium on this host (looked for chromium, chromium-browser, google-chrome): apt-get install chromium")
			return
		}
		profile, err := os.MkdirTemp("", "rowproof-browser-")
		if err != nil {
			browser.err = err
			return
		}
		opts := append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.ExecPath(path), chromedp.UserDataDir(profile),
			chromedp.NoSandbox, chromedp.DisableGPU,
			chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
		alloc, stopAlloc := chromedp.NewExecAllocator(context.Background(), opts...)
		ctx, stop := chromedp.NewContext(alloc)
		browser.stop = []func(){func() { _ = chromedp.Cancel(ctx) }, stop, stopAlloc, func() { os.RemoveAll(profile) }}
		browser.ctx, browser.err = ctx, chromedp.Do(ctx)
	})
	return browser.ctx, browser.err
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, stop := range browser.stop {
		stop()
	}
	built.remove()
	os.Exit(code)
}

// tab is one page in its own browser context, so that storage never leaks from test to
// test, with all that went wrong on it.
type tab struct {
	t      testing.TB
	ctx    context.Context
	origin string

	mu       sync.Mutex
	troubles []string
	waiting  map[network.RequestID]string // requests under way
	asked    []string                     // URLs requested
}

// newTab opens an empty tab that notes every complaint of the browser and every request
// to another origin than origin.
func newTab(t testing.TB, origin string) *tab {
	t.Helper()
	parent, err := startBrowser()
	if err != nil {
		t.Fatal(err)
	}
	p := &tab{t: t, origin: origin, waiting: map[network.RequestID]string{}}
	ctx, cancel := chromedp.NewContext(parent, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.listen))
	p.ctx = ctx
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	call(p, network.Enable, network.EnableParams{})
	call(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{
		Source: `addEventListener("securitypolicyviolation", e => console.error("CSP " + e.violatedDirective + " refused " + (e.blockedURI || e.sample)))`,
	})
	return p
}

// listen runs on the browser's message loop: it only notes.
func (p *tab) listen(ev any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch ev := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		switch ev.Type {
		case "error", "warning", "assert":
			text := []string{}
			for _, arg := range ev.Args {
				text = append(text, strings.Trim(string(arg.Value)+arg.Description, `"`))
			}
			p.troubles = append(p.troubles, fmt.Sprintf("console.%s: %s", ev.Type, strings.Join(text, " ")))
		}
	case *runtime.EventExceptionThrown:
		p.troubles = append(p.troubles, (&chromedp.ExceptionError{ExceptionDetails: ev.ExceptionDetails}).Error())
	case *cdplog.EventEntryAdded:
		if ev.Entry.Level == "error" || ev.Entry.Level == "warning" {
			p.troubles = append(p.troubles, fmt.Sprintf("%s %s: %s %s", ev.Entry.Source, ev.Entry.Level, ev.Entry.Text, ev.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		url := ev.Request.URL
		p.asked = append(p.asked, url)
		// An icon that a navigation overtakes and a worker's script are never told to have ended.
		if !strings.Contains(url, "/favicon-") && !strings.Contains(url, "/judge-") {
			p.waiting[ev.RequestID] = url
		}
		if !strings.HasPrefix(url, p.origin+"/") && !strings.HasPrefix(url, "data:") {
			p.troubles = append(p.troubles, "request to another origin: "+url)
		}
	case *network.EventLoadingFinished:
		delete(p.waiting, ev.RequestID)
	case *network.EventLoadingFailed:
		delete(p.waiting, ev.RequestID)
	}
}

// noted is what went wrong on the page so far.
func (p *tab) noted() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.troubles...)
}

func (p *tab) underWay() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiting)
}

// do runs an action on the tab, or ends the test.
func do[T any](p *tab, a chromedp.Action[T]) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// eval evaluates a JavaScript expression, awaiting it if it is a promise.
func eval[T any](p *tab, js string) T {
	p.t.Helper()
	return do(p, chromedp.Evaluate[T](js, chromedp.EvalAwaitPromise))
}

// visit goes to url and waits until the page has loaded, has come to rest and has no
// request under way.
func (p *tab) visit(url string) {
	p.t.Helper()
	do(p, chromedp.Navigate(url))
	p.settle()
}

// settle waits for two idle moments of the page with no request under way.
func (p *tab) settle() {
	p.t.Helper()
	until := time.Now().Add(patience)
	for quiet := 0; quiet < 2; {
		eval[chromedp.Void](p, `new Promise(done => requestIdleCallback(() => done()))`)
		if quiet++; p.underWay() > 0 {
			quiet = 0
		}
		if time.Now().After(until) {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.t.Fatalf("requests still under way after %v: %v", patience, p.waiting)
		}
	}
}

// show sets the window's width and the system's theme.
func (p *tab) show(width int, theme string) {
	p.t.Helper()
	do(p, chromedp.EmulateViewport(int64(width), 900))
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
}

// call runs one protocol command on the tab, or ends the test.
func call[P, R any](p *tab, cmd cdp.Command[P, R], params P) R {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	r, err := chromedp.Call(ctx, cmd, params)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}
