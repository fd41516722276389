package gate_test

import (
	"reflect"
	"strings"
	"testing"

	"rowproof/internal/gate"
	"rowproof/internal/row"
	"rowproof/internal/rowfile"
	"rowproof/internal/rowtest"
)

// leaf is one value that a row states of what it measured.
type leaf struct {
	path  string
	value reflect.Value
}

func leaves(path string, v reflect.Value) (out []leaf) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return leaves(path, v.Elem())
		}
		return []leaf{{path, v}}
	case reflect.Struct:
		for i := range v.NumField() {
			out = append(out, leaves(path+"."+v.Type().Field(i).Name, v.Field(i))...)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			out = append(out, leaves(path+"[]", v.Index(i))...)
		}
	case reflect.Map: // of intervals
	default:
		return []leaf{{path, v}}
	}
	return out
}

// No value that a row states of what it measured can be changed, given or taken away
// without gate recompute seeing it.
func TestRecomputeHoldsEveryValue(t *testing.T) {
	m := make1(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 256, OSL: 32, Rate: row.OwnTimes, Prompts: row.PromptsTrace}}, Requests: 100})
	b, err := rowfile.LoadFS(m.files(t), "r.json")
	if err != nil {
		t.Fatal(err)
	}
	b.Now = now
	in := b.Input(0, nil)
	computed := row.Compute(&in.Row.Workload, 1, in.Samples, in.Evidence)
	in.Computed = &computed
	fails := func() bool {
		for _, r := range gate.Judge(in) {
			if r.Gate == "recompute" {
				return r.Answer == gate.Fail
			}
		}
		return false
	}
	if fails() {
		t.Fatal("the row as it was written")
	}
	asked := 0
	for _, part := range []struct {
		name  string
		value any
	}{{"figures", &in.Row.Figures}, {"counts", &in.Row.Counts}, {"server", &in.Row.Server}, {"per_repeat", &in.Row.PerRepeat}} {
		for _, l := range leaves(part.name, reflect.ValueOf(part.value).Elem()) {
			old := reflect.New(l.value.Type()).Elem()
			old.Set(l.value)
			switch l.value.Kind() {
			case reflect.Float64:
				l.value.SetFloat(l.value.Float()*(1+1e-12) + 1e-12)
			case reflect.Int64:
				l.value.SetInt(l.value.Int() + 1)
			case reflect.String:
				l.value.SetString(l.value.String() + "x")
			case reflect.Pointer: // given where it is missing; a distribution with nothing in it is none
				l.value.Set(reflect.New(l.value.Type().Elem()))
			default:
				t.Fatalf("%s is a %v", l.path, l.value.Kind())
			}
			if !fails() && !(strings.HasSuffix(l.path, ".Clock") && l.value.Kind() == reflect.Pointer) {
				t.Errorf("%s was changed, and nothing failed", l.path)
			}
			l.value.Set(old)
			asked++
		}
	}
	if asked < 150 {
		t.Errorf("only %d values were changed", asked)
	}
}
