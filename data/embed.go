// Package data carries the catalogue inside the binaries, so that measure knows the
// published models, targets, strategies and recipes wherever it runs. Rows stay
// outside: they are many, and only the generator reads them.
package data

import "embed"

// FS holds models/, targets/, strategies/ and cells/.
//
//go:embed models targets strategies cells
var FS embed.FS
