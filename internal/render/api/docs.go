package api

import (
	_ "embed"
	"encoding/json"
	"reflect"
	"sync"
)

// What the comments of the Go structs say of their fields, which reflection does not
// tell. A test writes it anew from the sources and fails where it differs; see its
// -update flag.
//
//go:embed docs.json
var docsFile []byte

var docs = sync.OnceValue(func() map[string]map[string]string {
	var all map[string]map[string]string
	if err := json.Unmarshal(docsFile, &all); err != nil {
		panic(err) // the file was made by the test
	}
	return all
})

// docOf is the comment of a field, or with field "" of the type itself.
func docOf(t reflect.Type, field string) string { return docs()[t.String()][field] }
