package engine

import (
	"strconv"
	"strings"
	"testing"

	"rowproof/internal/row"
)

// generated is an event of /generate with this text and so many tokens so far.
func generated(text string, n int, more string) string {
	return `data: {"text":"` + text + `","meta_info":{"prompt_tokens":3,"completion_tokens":` + strconv.Itoa(n) + `,"cached_tokens":1` + more + `}}` + "\n\n"
}

// predicted is an event of /completion with this text and so many tokens so far.
func predicted(text string, n int, more string) string {
	return `data: {"content":"` + text + `","stop":false,"tokens_predicted":` + strconv.Itoa(n) + `,"tokens_evaluated":3` + more + `}` + "\n\n"
}

// stopped is the last event of /completion.
func stopped(n int, more string) string {
	return strings.Replace(predicted("", n, more), `"stop":false`, `"stop":true`, 1)
}

// Streams of the engines' own routes as they may come, each cut at every byte.
func TestMadeStreamsOfOwnRoutes(t *testing.T) {
	const (
		word  = `{"response":"w","done":false}` + "\n"
		spoke = `{"message":{"role":"assistant","content":"w"},"done":false}` + "\n"
		last  = `{"response":"","done":true,"prompt_eval_count":3,"eval_count":2}` + "\n"
	)
	for _, c := range []struct {
		name, path, body string
		want             say
	}{
		// SGLang.
		{"text that grows", PathGenerate, generated("a", 1, "") + generated("a b", 2, "") + generated("a b c d", 4, "") + end,
			say{"ok", "", 3, 4, 1, 3, []int64{1, 1, 2}, 0, "", -1}},
		{"increments", PathGenerate, generated("a", 1, "") + generated(" a", 2, "") + generated(" a", 3, "") + end,
			say{"ok", "", 3, 3, 1, 3, nil, 0, "", -1}},
		{"a token that prints nothing, and an event that brings nothing", PathGenerate, generated("", 1, "") + generated("a", 2, "") + generated("a", 2, `,"finish_reason":{"type":"length","length":2}`) + end,
			say{"ok", "", 3, 2, 1, 2, nil, 0, "", -1}},
		{"ids alone", PathGenerate, `data: {"output_ids":[5],"meta_info":{"prompt_tokens":3,"completion_tokens":1}}` + "\n\n" + `data: {"output_ids":[5,6],"meta_info":{"prompt_tokens":3,"completion_tokens":2}}` + "\n\n" + end,
			say{"ok", "", 3, 2, -1, 2, nil, 0, "", -1}},
		{"no counts", PathGenerate, `data: {"text":"a"}` + "\n\n" + `data: {"text":"ab"}` + "\n\n" + end, say{"ok", "", -1, -1, -1, 2, nil, 0, "chunks", -1}},
		{"aborted", PathGenerate, generated("a", 1, "") + generated("a", 1, `,"finish_reason":{"type":"abort","message":"too long for the pool","status_code":400}`) + end,
			say{"error", "finish_reason is abort: too long for the pool", 3, 1, 1, 1, nil, 0, "", -1}},
		{"an error", PathGenerate, generated("a", 1, "") + `data: {"error":{"message":"out of memory"}}` + "\n\n" + end, say{"error", "out of memory", 3, 1, 1, 1, nil, 0, "", -1}},
		{"no end", PathGenerate, generated("a", 1, ""), say{"error", "ended without [DONE]", 3, 1, 1, 1, nil, 0, "", -1}},
		{"reasoning counted", PathGenerate, generated("a", 3, `,"reasoning_tokens":2`) + end, say{"ok", "", 3, 3, 1, 1, []int64{3}, 0, "", -1}},

		// llama.cpp.
		{"an older build, which names no ids", PathCompletion, predicted("a", 1, `,"tokens":[]`) + predicted(" b", 2, `,"tokens":[]`) + stopped(2, `,"tokens":[],"timings":{"prompt_n":1}`),
			say{"ok", "", 3, 2, 2, 2, nil, 0, "", -1}},
		{"an end mark after the last event", PathCompletion, predicted("a", 1, "") + stopped(1, "") + end, say{"ok", "", 3, 1, -1, 1, nil, 0, "", -1}},
		{"content in the last event", PathCompletion, predicted("a", 1, "") + strings.Replace(stopped(2, ""), `"content":""`, `"content":"b"`, 1), say{"ok", "", 3, 2, -1, 2, nil, 0, "", -1}},
		{"no last event", PathCompletion, predicted("a", 1, "") + predicted("b", 2, ""), say{"error", `ended without its last event ("stop": true)`, 3, 2, -1, 2, nil, 0, "", -1}},
		{"the last event without its blank line", PathCompletion, predicted("a", 1, "") + strings.TrimSuffix(stopped(1, ""), "\n\n"), say{"ok", "", 3, 1, -1, 1, nil, 0, "", -1}},
		{"cut in the last event", PathCompletion, predicted("a", 1, "") + stopped(1, "")[:30], say{"error", "ended inside an event", 3, 1, -1, 1, nil, 0, "", -1}},
		{"an error event", PathCompletion, predicted("a", 1, "") + `data: {"error":{"code":500,"message":"slot lost","type":"server_error"}}` + "\n\n", say{"error", "slot lost (code 500)", 3, 1, -1, 1, nil, 0, "", -1}},
		{"nothing predicted", PathCompletion, stopped(0, ""), say{"error", "ended with no content", 3, 0, -1, 0, nil, 0, "", -1}},
		{"a chat of its OpenAI API with times", PathChat, hello + hello + `data: {"choices":[],"usage":{"prompt_tokens":21,"completion_tokens":2,"total_tokens":23},"timings":{"cache_n":16,"prompt_n":5,"prompt_ms":56.4}}` + "\n\n" + end,
			say{"ok", "", 21, 2, 16, 2, nil, 0, "", -1}},

		// Ollama.
		{"a chat", PathOllamaChat, spoke + spoke + `{"message":{"role":"assistant","content":""},"done":true,"prompt_eval_count":3,"eval_count":2}` + "\n", say{"ok", "", 3, 2, -1, 2, nil, 0, "", -1}},
		{"thinking, then the answer", PathOllamaChat, `{"message":{"content":"","thinking":"hm"},"done":false}` + "\n" + spoke + last, say{"ok", "", 3, 2, -1, 2, nil, 1, "", -1}},
		{"thinking of a completion", PathOllamaGenerate, `{"response":"","thinking":"hm","done":false}` + "\n" + `{"response":"","thinking":"hm","done":false}` + "\n" + last, say{"ok", "", 3, 2, -1, 2, nil, -1, "", -1}},
		{"a tool call", PathOllamaChat, `{"message":{"content":"","tool_calls":[{"function":{"name":"f"}}]},"done":false}` + "\n" + spoke + last, say{"ok", "", 3, 2, -1, 2, nil, 0, "", -1}},
		{"the last line without its newline", PathOllamaGenerate, word + word + strings.TrimSuffix(last, "\n"), say{"ok", "", 3, 2, -1, 2, nil, 0, "", -1}},
		{"no last object", PathOllamaGenerate, word + word, say{"error", `ended without its last object ("done": true)`, -1, -1, -1, 2, nil, 0, "chunks", -1}},
		{"no last object, and no newline", PathOllamaGenerate, word + strings.TrimSuffix(word, "\n"), say{"error", `ended without its last object ("done": true), and without the newline after its last line`, -1, -1, -1, 2, nil, 0, "chunks", -1}},
		{"cut in a line", PathOllamaGenerate, word + last[:20], say{"error", "ended inside a line", -1, -1, -1, 1, nil, 0, "chunks", -1}},
		{"a line that is no JSON", PathOllamaGenerate, word + "oops\n" + last, say{"error", "an event is not JSON: oops", 3, 2, -1, 1, nil, 0, "", -1}},
		{"a line that is no object", PathOllamaGenerate, word + "[1]\n" + last, say{"error", "an event is not a completion chunk: [1]", 3, 2, -1, 1, nil, 0, "", -1}},
		{"blank lines and CR", PathOllamaGenerate, word + "\r\n\n" + strings.ReplaceAll(word+last, "\n", "\r\n"), say{"ok", "", 3, 2, -1, 2, nil, 0, "", -1}},
		{"an error first", PathOllamaGenerate, `{"error":"model runner has unexpectedly stopped"}` + "\n", say{"error", "model runner has unexpectedly stopped", -1, -1, -1, 0, nil, 0, "chunks", -1}},
		{"counts that can't be", PathOllamaGenerate, word + `{"done":true,"prompt_eval_count":-1,"eval_count":1e30,"total_duration":-5,"load_duration":1.5}` + "\n", say{"error", "can't be: prompt_tokens -1; completion_tokens 1e30", -1, -1, -1, 1, nil, 0, "chunks", -1}},
		{"fewer tokens counted than came", PathOllamaGenerate, word + word + word + last, say{"ok", "usage says 2 tokens, 3 chunks carried content, and none says how many", 3, 2, -1, 3, nil, 0, "", -1}},
		{"content after the last object", PathOllamaGenerate, word + last + word + last, say{"error", `content after its last object ("done": true)`, 3, 2, -1, 1, nil, 0, "", -1}},
		{"content after the last event", PathCompletion, predicted("a", 1, "") + stopped(1, "") + predicted("b", 2, "") + stopped(2, ""), say{"error", `content after its last event ("stop": true)`, 3, 1, -1, 1, nil, 0, "", -1}},
		{"text after the end mark", PathGenerate, generated("a", 1, "") + end + generated("ab", 2, ""), say{"error", "content after [DONE]", 3, 1, 1, 1, nil, 0, "", -1}},
		{"a time that can't be", PathOllamaGenerate, word + `{"done":true,"prompt_eval_count":3,"eval_count":1,"prompt_eval_duration":9223372036854775807}` + "\n",
			say{"ok", "prompt_eval_duration can't be: 9223372036854775807 ns", 3, 1, -1, 1, nil, 0, "", -1}},
		{"nine million tokens in a chunk", PathGenerate, generated("a", 9_000_000, "") + end, say{"error", "can't be: completion_tokens 9000000 with 1 chunks", -1, -1, -1, 1, nil, 0, "chunks", -1}},
		{"nine million tokens in a chunk, and no end", PathGenerate, generated("a", 9_000_000, ""), say{"error", "ended without [DONE]", -1, -1, -1, 1, nil, 0, "chunks", -1}},
		{"nothing", PathOllamaGenerate, "", say{"error", "the server sent nothing", -1, -1, -1, 0, nil, 0, "chunks", -1}},
	} {
		t.Run(c.path+"/"+c.name, func(t *testing.T) { atEveryByte(t, c.path, []byte(c.body), c.want) })
	}
}

// What speculation did comes under three pairs of names.
func TestDraftsOfSGLang(t *testing.T) {
	for _, names := range []string{
		`"spec_num_correct_drafts":5,"spec_num_proposed_drafts":9`,
		`"spec_accepted_drafts":5,"spec_proposed_drafts":9`,
		`"spec_accept_token_num":5,"spec_draft_token_num":9`,
	} {
		p := &player{parts: frames([]byte(generated("a b", 8, `,"spec_verify_ct":3,`+names) + end))}
		s, _ := run(t, from(spec(p.serve(t)), PathGenerate))
		if s.Spec == nil || *s.Spec != (row.Spec{Drafts: 3, DraftTokens: 9, Accepted: 5}) {
			t.Errorf("%s: %+v", names, s.Spec)
		}
	}
	p := &player{parts: frames([]byte(generated("a b", 8, `,"spec_verify_ct":3,"spec_accept_length":2.6`) + end))}
	if s, _ := run(t, from(spec(p.serve(t)), PathGenerate)); s.Spec != nil {
		t.Errorf("%+v from a mean alone", s.Spec)
	}
}
