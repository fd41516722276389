// Package browsertest looks at the built site the way a reader does: it builds the site
// with gen, serves it on loopback and visits each kind of page in a real Chromium, with
// and without JavaScript, narrow and wide, light and dark. It holds tests only.
package browsertest
