package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"rowproof/internal/loadgen"
	"rowproof/internal/row"
)

// completionsOf is an answer of /v1/completions of the given tokens, so many a chunk, with their
// ids or without.
func completionsOf(tokens []int, chunk int, ids bool) []byte {
	var b strings.Builder
	for at := 0; at < len(tokens); at += chunk {
		part := tokens[at:min(at+chunk, len(tokens))]
		text, list := "", []string{}
		for _, n := range part {
			text += fmt.Sprintf(" w%d", n)
			list = append(list, fmt.Sprint(n))
		}
		b.WriteString(`data: {"object":"text_completion","choices":[{"index":0,"text":"` + text + `"`)
		if ids {
			b.WriteString(`,"token_ids":[` + strings.Join(list, ",") + `]`)
		}
		b.WriteString("}]}\n\n")
	}
	fmt.Fprintf(&b, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":%d,\"total_tokens\":%d}}\n\ndata: [DONE]\n\n", len(tokens), len(tokens)+3)
	return []byte(b.String())
}

// distinctOf counts in the plain way.
func distinctOf[T comparable](list []T) (distinct, all int64) {
	seen := map[[2]T]bool{}
	for i := range len(list) - 1 {
		seen[[2]T{list[i], list[i+1]}] = true
	}
	return int64(len(seen)), int64(len(list) - 1)
}

func TestBigramsOfAnAnswer(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var free, loop []int
	for i := range 256 {
		free = append(free, random.IntN(128_000))
		loop = append(loop, []int{5, 7, 5, 9, 11}[i%5])
	}
	begins := append(append([]int{}, free[:100]...), loop[:156]...)
	for _, c := range []struct {
		name   string
		tokens []int
	}{{"free", free}, {"a loop of five", loop}, {"one that falls into it", begins}, {"one token", []int{4}}, {"the same one", []int{4, 4, 4, 4}}} {
		for _, ids := range []bool{true, false} {
			for _, chunk := range []int{1, 3} {
				body := completionsOf(c.tokens, chunk, ids)
				r := read(&loadgen.Outcome{HTTPStatus: 200, Body: body, Call: loadgen.Call{Path: PathCompletions, OSL: 256}})
				s := r.sample(&loadgen.Outcome{Call: loadgen.Call{OSL: 256}}, 0)
				want := row.Bigrams{}
				if ids {
					want.Distinct, want.All = distinctOf(c.tokens)
				} else {
					var texts []string
					for at := 0; at < len(c.tokens); at += chunk {
						texts = append(texts, fmt.Sprint(c.tokens[at:min(at+chunk, len(c.tokens))]))
					}
					want.Distinct, want.All = distinctOf(texts)
					want.Of = row.BigramsOfText
				}
				if !ids && len(c.tokens) <= chunk {
					if s.Bigrams != nil || !strings.Contains(s.NoBigrams, "in one chunk") {
						t.Errorf("%s, %d a chunk: %v %q", c.name, chunk, s.Bigrams, s.NoBigrams)
					}
					continue
				}
				if s.Bigrams == nil || *s.Bigrams != want {
					t.Errorf("%s, ids %t, %d a chunk: %v %q, want %v", c.name, ids, chunk, s.Bigrams, s.NoBigrams, want)
				}
			}
		}
	}
}

// Every dialect's own stream of a loop is known as one.
func TestBigramsInEveryDialect(t *testing.T) {
	words := []string{"the", " end", " of", " it", "."}
	var completions, chat, generate, completion, ollama strings.Builder
	text := ""
	for i := range 40 {
		w := words[i%5]
		text += w
		fmt.Fprintf(&completions, "data: {\"choices\":[{\"index\":0,\"text\":%q}]}\n\n", w)
		fmt.Fprintf(&chat, "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":%q}}]}\n\n", w)
		fmt.Fprintf(&generate, "data: {\"text\":%q,\"meta_info\":{\"completion_tokens\":%d}}\n\n", text, i+1)
		fmt.Fprintf(&completion, "data: {\"content\":%q,\"tokens\":[%d],\"stop\":false}\n\n", w, i%5)
		fmt.Fprintf(&ollama, "{\"response\":%q,\"done\":false}\n", w)
	}
	for _, c := range []struct{ path, body string }{
		{PathCompletions, completions.String() + "data: [DONE]\n\n"}, {PathChat, chat.String() + "data: [DONE]\n\n"},
		{PathGenerate, generate.String() + "data: [DONE]\n\n"},
		{PathCompletion, completion.String() + "data: {\"content\":\"\",\"stop\":true}\n\n"},
		{PathOllamaGenerate, ollama.String() + "{\"response\":\"\",\"done\":true}\n"},
	} {
		r := read(&loadgen.Outcome{HTTPStatus: 200, Body: []byte(c.body), Call: loadgen.Call{Path: c.path, OSL: 64}})
		if r.failure != "" {
			t.Fatalf("%s: %s", c.path, r.failure)
		}
		s := r.sample(&loadgen.Outcome{Call: loadgen.Call{OSL: 64}}, 0)
		if b := s.Bigrams; b == nil || b.Distinct != 5 || b.All != 39 || !b.Loops() {
			t.Errorf("%s: %+v %q, want 5 of 39", c.path, b, s.NoBigrams)
		}
	}
}

// BenchmarkRead is what it takes to understand one answer of 1,024 tokens, after the load.
func BenchmarkRead(b *testing.B) {
	for _, ids := range []bool{true, false} {
		b.Run(fmt.Sprintf("ids=%t", ids), func(b *testing.B) {
			var tokens []int
			for i := range 1024 {
				tokens = append(tokens, 17*i)
			}
			body := completionsOf(tokens, 1, ids)
			o := &loadgen.Outcome{HTTPStatus: 200, Body: body, Call: loadgen.Call{Path: PathCompletions, OSL: 1024}}
			b.ReportAllocs()
			for b.Loop() {
				read(o).sample(o, 0)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1024, "ns/chunk")
		})
	}
}
