package imports

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"

	"rowproof/internal/roofline"
	"rowproof/internal/rooftest"
)

// fused are the instructions that round a product and a sum once where others round
// twice.
var fused = regexp.MustCompile(`(?m)^.*\((\S+\.go:\d+)\)\s+(V?FN?M(?:ADD|SUB)\w*)\s`)

// A compiler may fuse a product into a sum that it feeds by way of a variable too, where
// no reading of the source finds it. So the instructions are read.
func TestPurePackagesFuseNothing(t *testing.T) {
	for _, machine := range [][]string{{"GOARCH=arm64"}, {"GOARCH=amd64", "GOAMD64=v3"}} {
		t.Run(strings.Join(machine, " "), func(t *testing.T) {
			args := []string{"build", "-gcflags=" + module + "...=-S"}
			for _, p := range pure {
				args = append(args, "./"+p)
			}
			cmd := exec.Command("go", args...)
			cmd.Dir = "../.."
			cmd.Env = append(os.Environ(), machine...)
			listing, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("go build: %v\n%s", err, listing)
			}
			if !bytes.Contains(listing, []byte("CeilingInto")) {
				t.Fatal("the compiler's listing does not hold what it compiled")
			}
			for _, found := range fused.FindAllSubmatch(listing, -1) {
				t.Errorf("%s: %s rounds once; write float64(a*b) where the product is made", found[1], found[2])
			}
		})
	}
}

// The same ceilings on the oldest and on a new machine, to the last bit: all cases,
// questions at random and nonsense.
func TestCeilingsOnNewerMachines(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("GOAMD64 is about amd64 alone; this is " + runtime.GOARCH)
	}
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA || !cpu.X86.HasBMI2 {
		t.Skip("this CPU lacks AVX2, FMA or BMI2, which GOAMD64=v3 needs")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rooftest.NewRandom(seed)
	var questions [][]float64
	for _, c := range rooftest.Cases(t) {
		questions = append(questions, roofline.Pack(c.Query))
	}
	for range 1000 {
		questions = append(questions, roofline.Pack(r.Query()))
	}
	for range 1000 {
		questions = append(questions, r.Packed())
	}
	var asked bytes.Buffer
	for _, q := range questions {
		asked.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(q))))
		asked.Write(rooftest.Bytes(q))
	}
	dir := t.TempDir()
	answer := func(level string) []byte {
		program := filepath.Join(dir, level)
		build := exec.Command("go", "build", "-o", program, "./internal/imports/testdata/ceilings")
		build.Dir = "../.."
		build.Env = append(os.Environ(), "GOAMD64="+level)
		if said, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, said)
		}
		run := exec.Command(program)
		run.Stdin = bytes.NewReader(asked.Bytes())
		out, err := run.Output()
		if err != nil {
			t.Fatalf("%s: %v", level, err)
		}
		return out
	}
	old, new := answer("v1"), answer("v3")
	if len(old) < len(questions)*8*roofline.OutSlots {
		t.Fatalf("%d bytes answer %d questions", len(old), len(questions))
	}
	if !bytes.Equal(old, new) {
		for i := range old {
			if i >= len(new) || old[i] != new[i] {
				t.Fatalf("the answers part at byte %d of %d", i, len(old))
			}
		}
	}
}
