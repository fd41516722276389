// Package engine speaks the servers' dialects: it builds requests, understands what
// came back, and asks a server what it is. Understanding happens after the clock has
// stopped, over complete bodies; when each token arrived comes from the stamps of the
// bytes that carried it.
package engine
