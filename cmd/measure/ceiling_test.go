package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"rowproof/data"
	"rowproof/internal/catalog"
)

// askCeiling runs the verb and reads its JSON.
func askCeiling(t *testing.T, args ...string) map[string]any {
	t.Helper()
	var out, said bytes.Buffer
	if code := run(context.Background(), append([]string{"ceiling", "--json"}, args...), nil, &out, &said); code != exitOK {
		t.Fatalf("%s: exit code %d: %s", strings.Join(args, " "), code, said.String())
	}
	var answer map[string]any
	d := json.NewDecoder(&out)
	d.UseNumber()
	if err := d.Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// What a program may count on finding, as numbers, under which names.
func TestCeilingJSON(t *testing.T) {
	answer := askCeiling(t, "--model", "deepseek-v3", "--target", "h200-sxm-x8", "--batch", "16", "--context", "4096",
		"--isl", "2048", "--osl", "512", "--concurrency", "16", "--cached", "512", "--chunk", "512", "--gamma", "1", "--acceptance", "0.8", "--mtp")
	for _, path := range []string{
		"read_params", "total_params", "mtp_params", "weight_bytes", "read_bytes_per_step", "kv_bytes_per_token",
		"decode_step_ms.hard", "decode_step_ms.expected", "decode_step_ms.op_wise", "decode_step_ms.serial",
		"decode_tok_s.hard", "decode_tok_s.expected", "prefill_ms.hard", "prefill_ms.expected", "max_concurrency", "tokens_per_step",
		"parts.weight_bytes_read", "parts.expert_bytes_read", "parts.expert_bytes_read_expected", "parts.kv_bytes_read", "parts.state_bytes_read",
		"parts.distinct_experts.hard", "parts.distinct_experts.expected",
		"parts.matrix_flops", "parts.expert_flops", "parts.head_flops", "parts.attention_flops", "parts.state_flops",
		"parts.memory_ms", "parts.compute_ms", "parts.communication_ms",
		"serving.ttft_ms", "serving.tpot_ms", "serving.output_tok_s", "serving.expected_output_tok_s", "serving.output_tok_s_per_gpu",
		"resident.weight_bytes", "resident.sequence_bytes", "resident.memory_bytes",
		"query.tp", "query.gamma", "query.acceptance",
	} {
		at, ok := any(answer), true
		for _, key := range strings.Split(path, ".") {
			var m map[string]any
			if m, ok = at.(map[string]any); ok {
				at, ok = m[key]
			}
		}
		n, isNumber := at.(json.Number)
		if !ok || !isNumber {
			t.Errorf("%s is %v, not a number", path, at)
			continue
		}
		v, err := n.Float64()
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if shortest := strconv.FormatFloat(v, 'f', -1, 64); n.String() != shortest {
			t.Errorf("%s is written %s, and %s is the shortest form", path, n, shortest)
		}
	}
	for _, key := range []string{"binding", "formula", "prefill_formula", "link_formula"} {
		if s, _ := answer[key].(string); s == "" {
			t.Errorf("%s is empty", key)
		}
	}
	if fits, ok := answer["fits"].(bool); !ok || !fits {
		t.Errorf("fits is %v", answer["fits"])
	}
	for _, key := range []string{"sources", "conventions"} {
		if list, _ := answer[key].([]any); len(list) == 0 {
			t.Errorf("%s is empty", key)
		}
	}
	if missing := answer["missing"].(map[string]any); len(missing) > 0 {
		t.Errorf("missing: %v", missing)
	}
}

// Every model has a ceiling on a device that serves it, and every device has one for a
// model: of what is missing the answer says why.
func TestCeilingOfEveryModelAndTarget(t *testing.T) {
	known, problems := catalog.Load(data.FS)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	load := []string{"--batch", "8", "--context", "1024", "--isl", "512", "--osl", "64", "--concurrency", "8"}
	ask := func(t *testing.T, model, target string) map[string]any {
		return askCeiling(t, append([]string{"--model", model, "--target", target}, load...)...)
	}
	for id := range known.Models {
		t.Run(id, func(t *testing.T) {
			answer := ask(t, id, "h200-sxm-x8")
			if missing := answer["missing"].(map[string]any); len(missing) > 0 {
				t.Errorf("missing: %v", missing)
			}
		})
	}
	for id := range known.Targets {
		t.Run(id, func(t *testing.T) {
			answer := ask(t, "qwen3-0.6b", id)
			missing := answer["missing"].(map[string]any)
			for key, v := range answer {
				if why, _ := missing[key].(string); v == nil && why == "" {
					t.Errorf("%s is null without a reason", key)
				}
			}
			if answer["decode_tok_s"] == nil {
				t.Errorf("no decode roof: %v", missing)
			}
		})
	}
}
