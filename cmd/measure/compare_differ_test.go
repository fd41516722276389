package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"rowproof/internal/row"
	"rowproof/internal/rowtest"
)

// Fields of a receipt whose change explains none of a figure, or that another one tells.
var noExplanation = map[string]string{
	"engine.started_at":     "each start has its own",
	"engine.command_line":   "its flags are the arguments",
	"engine.arguments_from": "where from, not what",
	"weights.files":         "the hash of their headers tells",
	"devices.index":         "a place",
	"devices.uuid":          "one of its kind",
	"devices.processes":     "titles",
	"unread":                "why something was not read",
	"taken.at":              "when",
	"taken.until":           "when",
	"taken.host":            "a name",
	"taken.sha256":          "of the file",
	"before_launch.at":      "when",
	"before_launch.devices": "another's memory, which gate host judges",
	"before_launch.unread":  "why it was not read",
	"evidence_sha256":       "of the evidence",
}

// Each field of a receipt that differs is told, and once.
func TestEveryDifferenceOfTwoReceipts(t *testing.T) {
	n := int64(7)
	full := func() *row.Report {
		r, _, _ := rowtest.Report(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 16, OSL: 4, Concurrency: 1}}, Requests: 2, Repeats: 1})
		c := &r.Receipt
		c.Engine.Environment = map[string]string{"NCCL_DEBUG": "WARN"}
		c.Weights = row.WeightsReceipt{Source: "repository", Revision: "abc", ConfigSHA256: "c0ffee", HeadersSHA256: "beef", Files: 4}
		c.Devices[0].Partition, c.Devices[0].ECC, c.Devices[0].Persisted = "SPX NPS1", "Enabled", "Enabled"
		c.Devices = append(c.Devices, c.Devices[0])
		c.Host.Governor, c.Host.HugePages, c.Host.OpenFiles, c.Host.LockedBytes, c.Host.SwapUsedBytes = "performance", "madvise", "65535", "unlimited", new(int64)
		c.Runtime.Image, c.Runtime.Libraries = "image@sha256:1", map[string]string{"libcudart": "12.8"}
		c.Runtime.Packages = map[string]string{"vllm": "0.26.0", "torch": "2.11.0", "flashinfer-python": "0.4"}
		c.Unread = map[string]string{"x": "y"}
		c.Taken = &row.Taken{At: "a", Until: "b", Host: "c", SHA256: "d"}
		c.BeforeLaunch = &row.BeforeLaunch{At: "a", Devices: []row.DeviceMemory{{Index: 0, MemoryUsed: &n}}, Unread: "x"}
		// Of its own, not shared with the recipe that it was made of.
		data, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		r.Receipt = row.Receipt{}
		if err := json.Unmarshal(data, &r.Receipt); err != nil {
			t.Fatal(err)
		}
		return r
	}
	seen := 0
	var walk func(v func(*row.Report) reflect.Value, path string)
	walk = func(v func(*row.Report) reflect.Value, path string) {
		one := v(full())
		if _, none := noExplanation[path]; !none {
			switch one.Kind() {
			case reflect.Pointer:
				if one.Type().Elem().Kind() == reflect.Struct {
					walk(func(r *row.Report) reflect.Value { return v(r).Elem() }, path)
					return
				}
			case reflect.Struct:
				for i := range one.NumField() {
					name, _, _ := strings.Cut(one.Type().Field(i).Tag.Get("json"), ",")
					walk(func(r *row.Report) reflect.Value { return v(r).Field(i) }, strings.TrimPrefix(path+"."+name, "."))
				}
				return
			case reflect.Slice:
				if one.Type().Elem().Kind() == reflect.Struct {
					walk(func(r *row.Report) reflect.Value { return v(r).Index(0) }, path)
					return
				}
			}
		}
		a, b := full(), full()
		switch at := v(b); at.Kind() {
		case reflect.String:
			at.SetString("other")
		case reflect.Int64:
			at.SetInt(at.Int() + 1)
		case reflect.Bool:
			at.SetBool(!at.Bool())
		case reflect.Pointer:
			other := at.Elem().Int() + 1
			at.Set(reflect.ValueOf(&other))
		case reflect.Map:
			for _, key := range at.MapKeys() {
				at.SetMapIndex(key, reflect.ValueOf("other"))
				break
			}
		case reflect.Slice:
			at.Set(reflect.Append(at, reflect.Zero(at.Type().Elem())))
		default:
			t.Fatalf("%s: a field of kind %s", path, at.Kind())
		}
		seen++
		differ := comparisonOf(a, b, nil).Differ
		if _, none := noExplanation[path]; none {
			if len(differ) != 0 {
				t.Errorf("%s explains nothing, and is told: %v", path, differ)
			}
		} else if len(differ) != 1 {
			t.Errorf("%s differs, and is told %d times: %v", path, len(differ), differ)
		}
	}
	walk(func(r *row.Report) reflect.Value { return reflect.ValueOf(&r.Receipt).Elem() }, "")
	if seen < 40 {
		t.Error(fmt.Sprint("only ", seen, " fields were changed"))
	}
}

func TestDifferencesInWords(t *testing.T) {
	report := func() *row.Report {
		r, _, _ := rowtest.Report(1, rowtest.Options{Cells: []rowtest.Cell{{ISL: 16, OSL: 4, Concurrency: 1}}, Requests: 2, Repeats: 1})
		return r
	}
	was, is := report(), report()
	was.Receipt.Runtime.Packages = map[string]string{"vllm": "0.26.0", "torch": "2.11.0", "flashinfer-python": "0.4.0"}
	is.Receipt.Runtime.Packages = map[string]string{"vllm": "0.27.0", "torch": "2.12.0", "triton": "3.7"}
	is.Receipt.Engine.Version = "0.27.0"
	was.Receipt.Host.Governor, is.Receipt.Host.Governor = "performance", "powersave"
	is.Receipt.Host.HugePages = "always" // the older report has no word of it
	was.Receipt.Runtime.Libraries = map[string]string{"libcudart": "12.8", "libnccl": "2.27"}
	is.Receipt.Runtime.Libraries = map[string]string{"libcudart": "13.0", "libnccl": "2.27"}
	is.Receipt.Engine.Arguments["max-model-len"] = "8192"
	want := [][3]string{
		{"engine", "vllm 0.26.0", "vllm 0.27.0"}, {"--max-model-len", "16384", "8192"},
		{"package flashinfer-python", "0.4.0", "—"}, {"package torch", "2.11.0", "2.12.0"}, {"package triton", "—", "3.7"},
		{"library libcudart", "12.8", "13.0"}, {"governor", "performance", "powersave"},
	}
	if got := comparisonOf(was, is, nil).Differ; !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	// An engine that lists all that it has says nothing by a default that the other never names.
	is.Receipt.Engine.ArgumentsFrom = "GET /server_info"
	is.Receipt.Engine.Arguments["device"] = "cuda"
	if got := comparisonOf(was, is, nil).Differ; !slices.Equal(got, want) {
		t.Errorf("with its defaults: %v", got)
	}
	// Of a file that says nothing of packages, that is one line and not each of them.
	is.Receipt.Runtime.Packages, is.Receipt.Runtime.Libraries = nil, nil
	n := 0
	for _, d := range comparisonOf(was, is, nil).Differ {
		if strings.HasPrefix(d[0], "package") || strings.HasPrefix(d[0], "library") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d lines of packages that were not read", n)
	}
}
