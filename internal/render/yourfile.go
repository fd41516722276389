package render

// yourFileView is the page that judges a reader's own files.
type yourFileView struct {
	Full, Integrity string
	Worker          string // the script that runs the module apart from the page
	Formats         []string
}

// writeYourFile writes the page; what it shows is made in the reader's browser alone.
func (s *site) writeYourFile() error {
	v := &yourFileView{Full: s.assets.full.address, Integrity: s.assets.full.integrity, Formats: []string{
		"a report of measure, with its samples and evidence beside it", "a CSV of measure bench", "vllm bench serve or latency",
		"sglang.bench_serving, bench_one_batch, bench_one_batch_server", "guidellm", "aiperf", "genai-bench", "inference-perf", "llama-bench", "InferenceX",
	}}
	if judge := s.assets.scripts["judge"]; len(judge) > 0 {
		v.Worker = judge[0]
	}
	return s.write(&page{
		Address: "your-file/", Kind: "yourfile", Section: elsewhere, Title: "Your file",
		Description: "Judge a result of yours in the browser, beside verified rows. Nothing is uploaded.", Main: v,
	})
}
