package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"rowproof/internal/row"
	"rowproof/internal/rowfile"
)

// reported is what a client wrote of one request that it counts as a success. Times are
// ns; lost stands for one that it says it does not know.
type reported struct {
	key    key
	first  int64   // to the first token
	gaps   []int64 // between tokens; nil: it writes none
	tokens int     // of the answer
	mean   int64   // of its gaps, where it writes only that
}

// key is how the truth log knows a request: by one of three.
type key struct {
	id     string // of the request, as the client named it
	answer int64  // number of the answer
	prompt string // hash of the prompt
}

const lost = math.MinInt64

func ns(seconds float64) int64 { return int64(math.Round(seconds * 1e9)) }

// readLists reads what vLLM's and both of sglang's clients write: a list a figure, a
// place a request. The answers' first words number them.
func readLists(path string) ([]reported, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var d struct {
		OSL    []int       `json:"output_lens"`
		First  []float64   `json:"ttfts"`
		Gaps   [][]float64 `json:"itls"`
		Texts  []string    `json:"generated_texts"`
		Errors []string    `json:"errors"`
	}
	// sglang writes a request rate of Infinity, which is no JSON.
	b = bytes.ReplaceAll(b, []byte(`"request_rate": Infinity`), []byte(`"request_rate": null`))
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if n := len(d.First); len(d.Gaps) != n || len(d.Texts) != n || len(d.OSL) != n || len(d.Errors) != n {
		return nil, fmt.Errorf("%s: %d ttfts, %d itls, %d texts, %d output_lens, %d errors", path, n, len(d.Gaps), len(d.Texts), len(d.OSL), len(d.Errors))
	}
	var out []reported
	for i := range d.First {
		if d.Errors[i] != "" {
			continue
		}
		word, _, _ := strings.Cut(strings.TrimSpace(d.Texts[i]), " ")
		answer, err := strconv.ParseInt(strings.TrimPrefix(word, "r"), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: answer %d begins with %q, want r and a number", path, i, word)
		}
		r := reported{key: key{answer: answer}, first: ns(d.First[i]), gaps: []int64{}, tokens: d.OSL[i]}
		for _, g := range d.Gaps[i] {
			r.gaps = append(r.gaps, ns(g))
		}
		out = append(out, r)
	}
	return out, nil
}

// readAIPerf reads aiperf's profile_export.jsonl: a line a request, times in ms.
func readAIPerf(path string) ([]reported, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	type figure struct {
		Value float64 `json:"value"`
	}
	var out []reported
	for d := json.NewDecoder(bufio.NewReader(f)); ; {
		var line struct {
			Metadata struct {
				ID        string `json:"x_request_id"`
				Phase     string `json:"benchmark_phase"`
				Cancelled bool   `json:"was_cancelled"`
			} `json:"metadata"`
			Metrics struct {
				First  *figure `json:"time_to_first_token"`
				Tokens figure  `json:"output_sequence_length"`
				Gaps   struct {
					Value []float64 `json:"value"`
				} `json:"inter_chunk_latency"`
			} `json:"metrics"`
		}
		if err := d.Decode(&line); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(out)+1, err)
		}
		if line.Metadata.Phase != "profiling" || line.Metadata.Cancelled || line.Metrics.First == nil {
			continue
		}
		r := reported{key: key{id: line.Metadata.ID}, first: ns(line.Metrics.First.Value / 1e3), gaps: []int64{}, tokens: int(line.Metrics.Tokens.Value)}
		for _, g := range line.Metrics.Gaps.Value {
			r.gaps = append(r.gaps, ns(g/1e3))
		}
		out = append(out, r)
	}
}

// readGuideLLM reads guidellm's report: of each request the time to the first token and
// one mean gap.
func readGuideLLM(path string) ([]reported, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var d struct {
		Benchmarks []struct {
			Requests struct {
				Successful []struct {
					Answer string  `json:"response_id"`
					First  float64 `json:"time_to_first_token_ms"`
					Gap    float64 `json:"inter_token_latency_ms"`
					Tokens int     `json:"output_tokens"`
				} `json:"successful"`
			} `json:"requests"`
		} `json:"benchmarks"`
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var out []reported
	for _, one := range d.Benchmarks {
		for _, r := range one.Requests.Successful {
			answer, err := strconv.ParseInt(r.Answer[strings.LastIndexByte(r.Answer, '-')+1:], 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: answer %q, want cmpl- and a number", path, r.Answer)
			}
			out = append(out, reported{key: key{answer: answer}, first: ns(r.First / 1e3), tokens: r.Tokens, mean: ns(r.Gap / 1e3)})
		}
	}
	return out, nil
}

// readOurs reads the samples that bench wrote in dir: each chunk's time in whole µs.
func readOurs(dir string) ([]reported, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.samples.jsonl.gz"))
	if err != nil || len(paths) != 1 {
		return nil, fmt.Errorf("%s: %d samples files, want one", dir, len(paths))
	}
	b, err := os.ReadFile(paths[0])
	if err != nil {
		return nil, err
	}
	samples, err := rowfile.DecodeSamples(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", paths[0], err)
	}
	var out []reported
	for _, s := range samples {
		if !s.OK() || s.Phase != row.PhaseTimed {
			continue // a drain's requests are cut short
		}
		if s.First != nil {
			return nil, fmt.Errorf("%s: the gaps of request %d were not kept", paths[0], s.I)
		}
		r := reported{key: key{prompt: s.Prompt}, first: lost, gaps: []int64{}, tokens: len(s.T)}
		known := true // the chunk before has a stamp
		for i, d := range s.T {
			switch {
			case d == row.NoStamp && i > 0:
				r.gaps = append(r.gaps, lost)
			case d == row.NoStamp:
			case i == 0:
				r.first = 1000 * d
			case known:
				r.gaps = append(r.gaps, 1000*d)
			default: // since an earlier chunk than the one before
				r.gaps = append(r.gaps, lost)
			}
			known = d != row.NoStamp
		}
		out = append(out, r)
	}
	return out, nil
}
