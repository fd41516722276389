package rowfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"strconv"
	"strings"

	"rowproof/internal/row"
)

// LargestReport is how many bytes a report may hold, LargestPacked a samples or evidence
// file as stored, Largest one unpacked, and LongestLine one of its lines.
const (
	LargestReport = 16 << 20
	LargestPacked = 32 << 20
	Largest       = 64 << 20
	LongestLine   = 32 << 20
)

// ReadFile reads a plain file of at most so many bytes, and no more than that of a larger
// one. Whatever else bears the name is not opened: a pipe may never say anything.
func ReadFile(fsys fs.FS, name string, most int64) ([]byte, error) {
	switch info, err := fs.Stat(fsys, name); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a plain file", name)
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s: more than %d MB", name, most>>20)
	}
	return data, nil
}

// EncodeSamples writes one line a request, gzipped; the same samples give the same
// bytes.
func EncodeSamples(samples []row.Sample) ([]byte, error) {
	var z packer
	for i := range samples {
		if err := z.line(&samples[i]); err != nil {
			return nil, fmt.Errorf("samples: request %d: %w", i, err)
		}
	}
	return z.bytes()
}

// DecodeSamples reads a samples file, and stops at its first line that is not as
// EncodeSamples writes it.
func DecodeSamples(data []byte) ([]row.Sample, error) {
	var out []row.Sample
	var tokens int64
	err := eachLine(data, "samples", func(line []byte) error {
		var s row.Sample
		if err := decodeLine(line, &s); err != nil {
			return err
		}
		if err := validSample(&s); err != nil {
			return err
		}
		if tokens += s.ChunkTokens(); tokens > tokensInFile {
			return fmt.Errorf("more than %d tokens in the file", tokensInFile)
		}
		out = append(out, s)
		return nil
	})
	return out, err
}

// Bounds of one sample: 12 days, and more tokens than any context holds. tokensInFile
// bounds what the gaps of a whole file are spread over.
const (
	longestTime  = 1 << 40 // µs
	mostTokens   = 1 << 24
	tokensInFile = 1 << 26
)

func validSample(s *row.Sample) error {
	switch s.Phase {
	case row.PhaseFirst, row.PhaseWarm, row.PhaseRamp, row.PhaseTimed, row.PhaseDrain:
	default:
		return fmt.Errorf("phase: expected first, warm, ramp, timed or drain, found %q", clip(s.Phase))
	}
	if s.Status != row.StatusOK && s.Status != row.StatusError {
		return fmt.Errorf("status: expected ok or error, found %q", clip(s.Status))
	}
	if s.N != nil && len(s.N) != len(s.T) {
		return fmt.Errorf("n: %d counts beside %d chunks in t", len(s.N), len(s.T))
	}
	for j, n := range s.N {
		if n < 0 || n > mostTokens {
			return fmt.Errorf("n[%d]: expected 0 to %d tokens, found %d", j, mostTokens, n)
		}
	}
	span := int64(0)
	for j, d := range s.T {
		if span += max(0, min(d, longestTime+1)); span > longestTime {
			return fmt.Errorf("t[%d]: more than %d µs since the request was sent", j, int64(longestTime))
		}
	}
	for _, c := range []struct {
		name string
		v    int64
	}{{"repeat", s.Repeat}, {"pass", s.Pass}, {"enqueued", s.Enqueued}, {"sent", s.Sent}} {
		if c.v < 0 || c.v > longestTime {
			return fmt.Errorf("%s: expected 0 to %d, found %d", c.name, int64(longestTime), c.v)
		}
	}
	if s.OK() && s.Sent < s.Enqueued {
		return fmt.Errorf("sent %d before enqueued %d", s.Sent, s.Enqueued)
	}
	for _, c := range []struct {
		name string
		v    *int64
		most int64
	}{
		{"isl", s.ISL, mostTokens}, {"osl", s.OSL, mostTokens}, {"cached", s.Cached, mostTokens},
		{"usage_total", s.UsageTotal, 2 * mostTokens}, {"chunks", s.Chunks, mostTokens}, {"tokens", s.Tokens, mostTokens},
		{"first", s.First, longestTime}, {"last", s.Last, longestTime}, {"reasoning", s.Reasoning, mostTokens},
		{"want_isl", s.WantISL, mostTokens}, {"want_osl", s.WantOSL, mostTokens}, {"want_cached", s.WantCached, mostTokens},
		{"session", &s.Session, longestTime},
	} {
		if c.v != nil && (*c.v < 0 || *c.v > c.most) {
			return fmt.Errorf("%s: expected 0 to %d, found %d", c.name, c.most, *c.v)
		}
	}
	if b := s.Bigrams; b != nil && (b.Distinct < 0 || b.All < b.Distinct || b.All > mostTokens || b.All > 0 && b.Distinct == 0) {
		return fmt.Errorf("bigrams: expected 1 to %d distinct ones of as many or more, found %d of %d", mostTokens, b.Distinct, b.All)
	}
	if b := s.Bigrams; b != nil && b.Of != "" && b.Of != row.BigramsOfText {
		return fmt.Errorf("bigrams.of: expected %q, or nothing where they are of token ids, found %q", row.BigramsOfText, clip(b.Of))
	}
	return checkServer(s)
}

// checkServer bounds what the server said of a request beside usage.
func checkServer(s *row.Sample) error {
	if c := s.Clock; c != nil {
		for _, v := range []*int64{c.Load, c.Prefill, c.Decode, c.Total} {
			if v != nil && (*v < 0 || *v > 1000*longestTime) {
				return fmt.Errorf("clock: expected 0 to %d ns, found %d", int64(1000*longestTime), *v)
			}
		}
	}
	if p := s.Spec; p != nil {
		for _, v := range []int64{p.Drafts, p.DraftTokens, p.Accepted} {
			if v < 0 || v > mostTokens {
				return fmt.Errorf("spec: expected 0 to %d, found %d", int64(mostTokens), v)
			}
		}
	}
	return nil
}

// EncodeEvidence writes one line a record, gzipped, and tells the SHA-256 of each line
// without its newline, as proof.evidence holds it.
func EncodeEvidence(evidence []row.Evidence) (gz []byte, sums []string, err error) {
	var z packer
	for i := range evidence {
		if err := z.line(&evidence[i]); err != nil {
			return nil, nil, fmt.Errorf("evidence: record %d: %w", i, err)
		}
		sums = append(sums, SHA256(z.last))
	}
	gz, err = z.bytes()
	return gz, sums, err
}

// DecodeEvidence reads an evidence file and the SHA-256 of each of its lines.
func DecodeEvidence(data []byte) (out []row.Evidence, sums []string, err error) {
	err = eachLine(data, "evidence", func(line []byte) error {
		var e row.Evidence
		if err := decodeLine(line, &e); err != nil {
			return err
		}
		out, sums = append(out, e), append(sums, SHA256(line))
		return nil
	})
	return out, sums, err
}

// packer gzips JSON lines, without a time in the header.
type packer struct {
	buf  bytes.Buffer
	z    *gzip.Writer
	last []byte
}

func (p *packer) line(v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	if p.z == nil {
		p.z = gzip.NewWriter(&p.buf)
	}
	p.last = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	_, err := p.z.Write(b.Bytes())
	return err
}

func (p *packer) bytes() ([]byte, error) {
	if p.z == nil {
		p.z = gzip.NewWriter(&p.buf)
	}
	if err := p.z.Close(); err != nil {
		return nil, err
	}
	return p.buf.Bytes(), nil
}

// decodeLine reads one strict JSON line.
func decodeLine(line []byte, v any) error {
	n, err := readJSON(line)
	if err != nil {
		var syntax *syntaxError
		if errors.As(err, &syntax) {
			return fmt.Errorf("column %d: %s", syntax.col, syntax.text)
		}
		return err
	}
	var s strict
	s.check(n, reflect.TypeOf(v).Elem(), "")
	if s.told(); len(s.problems) > 0 {
		for i, p := range s.problems {
			s.problems[i] = strings.TrimPrefix(p, "line 1: ")
		}
		return errors.New(strings.Join(s.problems, "; "))
	}
	return json.Unmarshal(line, v)
}

// eachLine unpacks a file and hands over each line without its newline.
func eachLine(data []byte, what string, line func([]byte) error) error {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s: not a gzip file: %w", what, err)
	}
	limited := &io.LimitedReader{R: z, N: Largest + 1}
	r := bufio.NewReaderSize(limited, 1<<16)
	for n := 1; ; n++ {
		text, err := readLine(r)
		at := what + ": line " + strconv.Itoa(n) + ": "
		switch {
		case len(text) > LongestLine:
			return fmt.Errorf("%smore than %d MB in one line", at, LongestLine>>20)
		case limited.N <= 0:
			return fmt.Errorf("%smore than %d MB unpacked", at, Largest>>20)
		case err == io.EOF && len(text) == 0:
			return nil
		case err == io.EOF:
			return errors.New(at + "the file ends in the middle of a line")
		case errors.Is(err, io.ErrUnexpectedEOF):
			return errors.New(at + "the file is truncated: its gzip stream ends early")
		case err != nil:
			return fmt.Errorf("%s%w", at, err)
		}
		if err := line(bytes.TrimSuffix(text, []byte("\n"))); err != nil {
			return fmt.Errorf("%s%w", at, err)
		}
	}
}

// readLine reads to the next newline, or until the line is longer than LongestLine.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) || len(line) > LongestLine {
			return line, err
		}
	}
}
