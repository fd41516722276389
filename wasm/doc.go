// Package wasm holds the browser modules, each a folder with its contract (.d.ts), and
// the test that runs the very file a page loads against native code.
package wasm
