package rowfile

import (
	"encoding/json"
	"strings"
	"testing"

	"rowproof/internal/row"
)

// Examples of RFC 8785: sorting by UTF-16 code units (section 3.2.3) and the escapes of
// section 3.2.2.2.
func TestCanonicalForm(t *testing.T) {
	for name, c := range map[string][2]string{
		"sorting": {
			`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			"{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
		"escapes":  {`"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/<&>\u2028"`, "\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/<&>\u2028\""},
		"literals": {" [ null , true , false , 0 , -5 , 9007199254740992 ] ", "[null,true,false,0,-5,9007199254740992]"},
		"empty":    {"{ }", "{}"},
	} {
		n, err := readJSON([]byte(c[0]))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := canonical(nil, n, "")
		if err != nil || string(got) != c[1] {
			t.Errorf("%s: %q (%v), want %q", name, got, err, c[1])
		}
	}
}

func TestCanonicalRefusesOtherNumbers(t *testing.T) {
	for _, text := range []string{"1.5", "1e3", "9007199254740993", "-9007199254740993", "1.0"} {
		n, err := readJSON([]byte(`{"target":{"gb":[` + text + `]}}`))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := canonical(nil, n, ""); err == nil || !strings.Contains(err.Error(), "target.gb[0]: "+text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The hash was computed apart from this program, by Python's json (sorted keys, no
// spaces) and hashlib.
func TestIDOverTheHashedPart(t *testing.T) {
	const report = `{"schema":"rowproof/1","recipe":"","as_it_was":null,"measured_at":"2026-11-30T18:20:00Z",` +
		`"tool":{"version":"0.1.0"},"receipt":{"a":1},"client":{"b":[true]},` +
		`"rows":[{"id":"x","workload":{"isl":8},"figures":{"ttft_ms":1.5},"proof":{"samples":null}}]}`
	const want = "41607a026a54"
	ids, err := IDs([]byte(report))
	if err != nil || len(ids) != 1 || ids[0] != want {
		t.Errorf("ids %v, %v; want %s", ids, err, want)
	}
}

func TestIDLeavesOutFiguresAndNames(t *testing.T) {
	r := &row.Report{Schema: row.Schema, MeasuredAt: "2026-11-30T18:20:00Z", Rows: []row.Row{{}, {}}}
	r.Rows[1].Workload.ISL = 7
	first, err := ID(r, 0)
	if err != nil {
		t.Fatal(err)
	}
	v := 2.5
	r.Rows[0].Figures.FirstCall, r.Rows[0].Status, r.Rows[0].Samples.File = &v, "error", "x"
	if again, _ := ID(r, 0); again != first {
		t.Error("a figure changed the id")
	}
	if other, _ := ID(r, 1); other == first {
		t.Error("another workload has the same id")
	}
	r.Receipt.Host.Cores = 9
	if again, _ := ID(r, 0); again == first {
		t.Error("the receipt is not in the id")
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	fromStruct, _ := ID(r, 0)
	if ids, err := IDs(data); err != nil || ids[0] != fromStruct {
		t.Errorf("the written form has the id %v (%v), the struct %s", ids, err, fromStruct)
	}
}
