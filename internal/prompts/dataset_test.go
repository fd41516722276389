package prompts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func itemsOf(t *testing.T, text string, output int64) (*Dataset, []string) {
	t.Helper()
	d, err := ReadDataset(strings.NewReader(text), output)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, it := range d.Items {
		out = append(out, fmt.Sprint(it.Prompt, it.Messages, " ", it.Output))
	}
	return d, out
}

func TestReadDataset(t *testing.T) {
	_, got := itemsOf(t, "\xef\xbb\xbf"+`{"prompt": "Why?\n", "output_len": 5}

{"messages": [{"role": "system", "content": ""}, {"role": "user", "content": "Hi"}], "id": 3}
`, 9)
	if want := []string{"Why?\n[] 5", "[{system } {user Hi}] 9"}; !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
}

// The published file is one array, holds conversations that begin with an answer or hold
// nothing, and members that only its makers know.
func TestReadDatasetOfConversations(t *testing.T) {
	const list = `[{"id": "x_0", "conversations": [{"from": "human", "value": "Summarise: é"}, {"from": "gpt", "value": "…", "markdown": null}]},
 {"id": "x_7", "conversations": [{"from": "gpt", "value": "as I said"}]}, {"id": "x_9", "conversations": []},
 {"model": "m", "conversations": [{"from": "system", "value": "s"}, {"from": "user", "value": "Go on"}]} ]
`
	d, got := itemsOf(t, list, 7)
	if want := []string{"Summarise: é[] 7", "Go on[] 7"}; !slices.Equal(got, want) || d.Skipped != 2 {
		t.Errorf("read %q and skipped %d, want %q", got, d.Skipped, want)
	}
	if _, err := ReadDataset(strings.NewReader(list), 0); err == nil ||
		err.Error() != "entry 1: no output_len, and so in 2 of 2 items; want it there, or --osl for them" {
		t.Errorf("without a length: %v", err)
	}
	if _, got := itemsOf(t, `{"conversations": [{"from": "human", "value": "One a line"}], "output_len": 3}`, 0); got[0] != "One a line[] 3" {
		t.Errorf("read %q", got)
	}
}

func TestReadDatasetTellsEverythingWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{"prompt": "", "output_len": 0}
{"prompt": "a", "messages": []}
{"text": "a"}
{"messages": [{"role": 1, "content": "a"}, {"content": ["a"], "tool": 1}, 5]}
[]
{"conversations": [{"from": "human"}]}
{"conversations": 5}`: `line 1: prompt "\"\""; want a text that is not empty
line 1: output_len "0"; want tokens from 1 to 16777216
line 2: want a prompt or messages, one of them
line 3: unknown field "text"; want prompt or messages, output_len, id, or ShareGPT's conversations
line 3: want a prompt or messages, one of them
line 4: messages[0]: role "1"; want a text
line 4: messages[1]: unknown field "tool"; want role and content
line 4: messages[1]: role ""; want a text
line 4: messages[1]: content "[\"a\"]"; want a text
line 4: messages[2]: found "5"; want a JSON object
line 5: found "[]"; want a JSON object
line 6: conversations[0]: want from and value, both texts
line 7: conversations "5"; want a list of {from, value}`,
		`[{"prompt": "a"}, 5, {]`:   "entry 2: found \"5\"; want a JSON object\nthe file: entry 3 is no JSON: invalid character ']' looking for beginning of object key string",
		`[{"prompt": "a"}`:          "the file: the array does not end",
		`[{"prompt": "a"}] {}`:      `the file: '{' after the array; want nothing`,
		"{\"prompt\": \"caf\xe9\"}": "line 1: no UTF-8; want a text in it",
		"[]":                        `the file: no prompt; want lines such as {"prompt": "Why is the sky blue?", "output_len": 128}`,
		" \n":                       "the file: no prompt; want lines such as {\"prompt\": \"Why is the sky blue?\", \"output_len\": 128}",
		`{"conversations": [{"from":"gpt","value":"a"}]}`: `the file: no prompt; want lines such as {"prompt": "Why is the sky blue?", "output_len": 128}`,
	} {
		if _, err := ReadDataset(strings.NewReader(text), 4); err == nil || err.Error() != want {
			t.Errorf("%s:\ntold\n%v\nwant\n%s", text, err, want)
		}
	}
}

func TestNoItemIsSentTwice(t *testing.T) {
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, `{"prompt": "p%d"}`+"\n", i)
	}
	d, _ := itemsOf(t, text.String(), 1)
	draw := NewDraw(d)
	seen := map[string]bool{}
	for repeat := range 2 {
		deal := draw.Deal(3, repeat)
		for seq := range 12 {
			deal.Item(seq) // built ahead
		}
		for seq := range 8 {
			p := deal.Item(seq).Prompt
			if seen[p] {
				t.Errorf("repeat %d sends %s again", repeat, p)
			}
			seen[p] = true
		}
		deal.Sent(8)
	}
	last := draw.Deal(4, 0)
	for seq := range last.Len() {
		seen[last.Item(seq).Prompt] = true
	}
	if last.Len() != 4 || len(seen) != 20 {
		t.Errorf("%d left and %d seen, want 4 and 20", last.Len(), len(seen))
	}
	if a, b := NewDraw(d).Deal(3, 0), NewDraw(d).Deal(3, 0); a.Item(7) != b.Item(7) {
		t.Error("the same seed gave another order")
	}
}

func FuzzReadDataset(f *testing.F) {
	f.Add(`{"prompt": "Why?", "output_len": 5}`, int64(0))
	f.Add(`[{"id": "x", "conversations": [{"from": "human", "value": "Hi"}]}]`, int64(7))
	f.Add(`{"messages": [{"role": "user", "content": "Hi"}]}`, int64(7))
	f.Fuzz(func(t *testing.T, text string, output int64) {
		if output < 0 || output > MostTokens {
			return
		}
		d, err := ReadDataset(strings.NewReader(text), output)
		if err != nil {
			if strings.Count(err.Error(), "\n") > mostProblems {
				t.Errorf("problems without bounds: %d bytes", len(err.Error()))
			}
			return
		}
		if len(d.Items) == 0 || len(d.SHA256) != 64 {
			t.Fatalf("%+v", d)
		}
		for _, it := range d.Items {
			if (it.Prompt == "") == (it.Messages == nil) || it.Output < 1 || it.Output > MostTokens {
				t.Fatalf("%+v", it)
			}
		}
	})
}
