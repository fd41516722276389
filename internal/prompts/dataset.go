package prompts

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Dataset is a file of prompts in words.
type Dataset struct {
	Items   []Item
	Skipped int // conversations that do not begin with a question
	SHA256  string
}

// Item is one prompt of a dataset: a text, or the messages of a chat.
type Item struct {
	Prompt   string    // "" where there are messages
	Messages []Message // nil where there is a text
	Output   int64     // tokens
}

// Message is one turn of a chat.
type Message struct{ Role, Content string }

var (
	itemFields    = []string{"prompt", "messages", "output_len", "id"}
	messageFields = []string{"role", "content"}
)

// ReadDataset reads JSON lines of {"prompt": text or "messages": [...], "output_len":
// tokens}, or conversations in ShareGPT's form, one a line or all in one array, of which
// the first question is the prompt. An item without output_len takes output tokens; 0 is
// none to take. Everything that is wrong is told, with its line or its place.
func ReadDataset(r io.Reader, output int64) (*Dataset, error) {
	f := newFile(r)
	d := &datasetReader{output: output}
	if err := d.read(f); err != nil {
		d.wrong.add("the file", "%s", err) // of a kind of its own
	}
	if d.unstated > 0 {
		d.wrong.add(d.firstUnstated, "no output_len, and so in %d of %d items; want it there, or --osl for them", d.unstated, d.unstated+len(d.Items))
	}
	if len(d.Items) == 0 && d.wrong.count == 0 {
		d.wrong.add("the file", `no prompt; want lines such as {"prompt": "Why is the sky blue?", "output_len": 128}`)
	}
	if err := d.wrong.err(); err != nil {
		return nil, err
	}
	d.SHA256 = f.sha256()
	return &d.Dataset, nil
}

type datasetReader struct {
	Dataset
	wrong         problems
	output        int64
	unstated      int
	firstUnstated string
}

func (d *datasetReader) read(f *file) error {
	switch begins, err := firstByte(f.Reader); {
	case errors.Is(err, io.EOF):
		return nil // an empty file, of which more is said than that it ends
	case err != nil:
		return err
	case begins != '[':
		return f.lines(func(number int, line []byte) error { return d.item("line", number, line) })
	}
	// One array: its entries are read one by one, since it may be most of a gigabyte.
	list := json.NewDecoder(f)
	if _, err := list.Token(); err != nil {
		return err
	}
	for n := 1; list.More(); n++ {
		var entry json.RawMessage
		if err := list.Decode(&entry); err != nil {
			return fmt.Errorf("entry %d is no JSON: %w", n, err)
		}
		if len(entry) > LongestLine {
			return fmt.Errorf("entry %d: more than %d MiB", n, LongestLine>>20)
		}
		if err := d.item("entry", n, entry); err != nil {
			return err
		}
	}
	if _, err := list.Token(); err != nil {
		return errors.New("the array does not end")
	}
	if rest, err := firstByte(bufio.NewReader(io.MultiReader(list.Buffered(), f))); err == nil {
		return fmt.Errorf("%q after the array; want nothing", rest)
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// firstByte is the next byte that is no space; it stays unread.
func firstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		if b != ' ' && b != '\t' && b != '\n' && b != '\r' {
			return b, r.UnreadByte()
		}
	}
}

// item takes one entry; its error ends the reading.
func (d *datasetReader) item(kind string, number int, b []byte) error {
	place := kind + " " + strconv.Itoa(number)
	before := d.wrong.count
	wrong := func(format string, a ...any) { d.wrong.add(place, format, a...) }
	members, err := object(b)
	if err != nil {
		wrong("%v", err)
		return d.wrong.enough()
	}
	if len(d.Items) == MostRequests {
		return fmt.Errorf("%s: more than %d prompts", place, MostRequests)
	}
	var it Item
	question := true
	if v, ok := members["conversations"]; ok {
		it.Prompt, question = conversation(v, wrong)
	} else {
		for name := range members {
			if !isField(name, itemFields) {
				wrong("unknown field %s; want prompt or messages, output_len, id, or ShareGPT's conversations", shown([]byte(name)))
			}
		}
		d.content(&it, members, wrong)
	}
	switch v := members["output_len"]; {
	case !isNull(v):
		var ok bool
		if it.Output, ok = count(v, 1, MostTokens); !ok {
			wrong("output_len %s; want tokens from 1 to %d", shown(v), MostTokens)
		}
	case d.output == 0 && question && d.wrong.count == before:
		if d.unstated++; d.unstated == 1 {
			d.firstUnstated = place
		}
		return nil
	default:
		it.Output = d.output
	}
	switch {
	case d.wrong.count > before:
	case !question:
		d.Skipped++
	default:
		d.Items = append(d.Items, it)
	}
	return d.wrong.enough()
}

// content reads a prompt or messages.
func (d *datasetReader) content(it *Item, members map[string]json.RawMessage, wrong func(string, ...any)) {
	prompt, messages := members["prompt"], members["messages"]
	switch {
	case isNull(prompt) == isNull(messages):
		wrong("want a prompt or messages, one of them")
	case !isNull(prompt):
		if json.Unmarshal(prompt, &it.Prompt) != nil || it.Prompt == "" {
			wrong("prompt %s; want a text that is not empty", shown(prompt))
		}
	default:
		it.Messages = chat(messages, wrong)
	}
}

const mostMessages = 10_000

// chat reads the messages of a chat.
func chat(v json.RawMessage, wrong func(string, ...any)) (out []Message) {
	var list []json.RawMessage
	if json.Unmarshal(v, &list) != nil || len(list) == 0 {
		wrong("messages %s; want a list of {role, content}", shown(v))
		return nil
	}
	if len(list) > mostMessages {
		wrong("%d messages; want at most %d", len(list), mostMessages)
		return nil
	}
	for i, m := range list {
		members, err := object(m)
		if err != nil {
			wrong("messages[%d]: %v", i, err)
			continue
		}
		for name := range members {
			if !isField(name, messageFields) {
				wrong("messages[%d]: unknown field %s; want role and content", i, shown([]byte(name)))
			}
		}
		var m Message
		for _, part := range []struct {
			name string
			text *string
		}{{"role", &m.Role}, {"content", &m.Content}} {
			v := members[part.name]
			if isNull(v) || json.Unmarshal(v, part.text) != nil {
				wrong("messages[%d]: %s %s; want a text", i, part.name, shown(v))
			}
		}
		out = append(out, m)
	}
	return out
}

// conversation is the first question of a conversation in ShareGPT's form; found is false
// where it begins with something else, as some of the published file do.
func conversation(v json.RawMessage, wrong func(string, ...any)) (question string, found bool) {
	var turns []struct {
		From, Value *string
	}
	if json.Unmarshal(v, &turns) != nil {
		wrong("conversations %s; want a list of {from, value}", shown(v))
		return "", false
	}
	for i, t := range turns {
		if t.From == nil || t.Value == nil {
			wrong("conversations[%d]: want from and value, both texts", i)
			return "", false
		}
	}
	for _, t := range turns {
		switch *t.From {
		case "system":
			continue
		case "human", "user":
			return *t.Value, *t.Value != ""
		}
		break
	}
	return "", false
}

// Draw takes the items of a dataset in an order of a seed's, none twice in a run.
type Draw struct {
	items []Item
	taken []bool
}

// NewDraw is a run's draw from a dataset.
func NewDraw(d *Dataset) *Draw { return &Draw{items: d.Items, taken: make([]bool, len(d.Items))} }

// Deal orders what no repeat has sent so far for the next one.
func (d *Draw) Deal(seed uint64, repeat int) *Deal {
	r := source(text(seed) + "/dataset/" + strconv.Itoa(repeat))
	deal := &Deal{draw: d}
	for _, i := range r.Perm(len(d.items)) {
		if !d.taken[i] {
			deal.order = append(deal.order, i)
		}
	}
	return deal
}

// Deal is the order of the items of one repeat.
type Deal struct {
	draw  *Draw
	order []int
}

// Len is how many items there are for the repeat.
func (d *Deal) Len() int { return len(d.order) }

// Item is the seq-th of the repeat.
func (d *Deal) Item(seq int) *Item { return &d.draw.items[d.order[seq]] }

// Sent takes the first n items of the repeat out of those that are left.
func (d *Deal) Sent(n int) {
	for _, i := range d.order[:n] {
		d.draw.taken[i] = true
	}
}
