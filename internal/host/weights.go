package host

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"rowproof/internal/row"
)

// Where weights come from.
const (
	weightsRandom     = "random"
	weightsRepository = "repository"
	weightsFile       = "file"
	weightsUnknown    = "unknown"
)

// modelArguments are the names under which engines take their model.
var modelArguments = []string{"model-path", "model_path", "model", "m", "hf-repo", "hf"}

func first(arguments map[string]string, names ...string) string {
	for _, n := range names {
		if v := arguments[n]; v != "" && v != "true" && v != "None" {
			return v
		}
	}
	return ""
}

// weights says what weights a server runs, from its settings and the files that they
// name. The settings are those of the command line, or the server's own.
func (m *machine) weights(arguments map[string]string, p *process, unread map[string]string) row.WeightsReceipt {
	w := row.WeightsReceipt{Source: weightsUnknown}
	model := first(arguments, modelArguments...)
	dummy := first(arguments, "load-format", "load_format") == "dummy"
	if dummy {
		w.Source = weightsRandom
	}
	if model == "" {
		unread["weights.source"] = "no setting of the server that we know names its model"
		unread["weights.config_sha256"] = unread["weights.source"]
		if dummy {
			delete(unread, "weights.source")
		}
		return w
	}
	if p == nil {
		if !dummy {
			unread["weights.source"] = "the server names " + model + ", but its process, and so its files, cannot be seen"
		}
		unread["weights.config_sha256"] = "the server's process, and so its files, cannot be seen"
		return w
	}
	where := m.file(p, model)
	info, err := os.Stat(where)
	switch {
	case err == nil && info.IsDir():
		if !dummy {
			w.Source = weightsFile
		}
		w.ConfigSHA256 = sumOf(filepath.Join(where, "config.json"), unread)
		headers(&w, where, unread)
	case err == nil:
		if !dummy {
			w.Source = weightsFile
		}
		headers(&w, where, unread)
		unread["weights.config_sha256"] = "the weights are one file, without a config.json"
	case filepath.IsAbs(model) || strings.HasPrefix(model, "."):
		unread["weights.source"] = "the server was given " + model + ", which is not there now"
		unread["weights.config_sha256"] = unread["weights.source"]
	default:
		if !dummy {
			w.Source = weightsRepository
		}
		m.repository(&w, model, first(arguments, "revision"), p, unread)
	}
	return w
}

// headers identifies weights that have no revision by their headers.
func headers(w *row.WeightsReceipt, where string, unread map[string]string) {
	if w.Source != weightsFile {
		return
	}
	var err error
	if w.HeadersSHA256, w.Files, err = headersOf(where); err != nil {
		unread["weights.headers_sha256"] = err.Error()
	}
}

// repository fills revision and config of a model that came from a hub, from the hub's
// cache on this host.
func (m *machine) repository(w *row.WeightsReceipt, model, revision string, p *process, unread map[string]string) {
	model, _, _ = strings.Cut(model, ":") // llama.cpp: repository:quantization
	hub := p.env["HF_HUB_CACHE"]
	if hub == "" {
		home := p.env["HF_HOME"]
		if home == "" {
			home = filepath.Join(p.env["HOME"], ".cache", "huggingface")
		}
		hub = filepath.Join(home, "hub")
	}
	cache := m.file(p, filepath.Join(hub, "models--"+strings.ReplaceAll(model, "/", "--")))
	if revision == "" {
		revision = "main"
	}
	commit := revision
	if b, err := os.ReadFile(filepath.Join(cache, "refs", filepath.Base(revision))); err == nil {
		commit = strings.TrimSpace(string(b))
	}
	if w.Source == weightsRepository {
		w.Revision = commit
		if commit == "main" {
			w.Revision = ""
			unread["weights.revision"] = "the server was given none, and its cache does not tell which commit main was"
		}
	}
	w.ConfigSHA256 = sumOf(filepath.Join(cache, "snapshots", filepath.Base(commit), "config.json"), unread)
}

// sumOf is the SHA-256 of a file in hex; "" with the reason in unread.
func sumOf(path string, unread map[string]string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		unread["weights.config_sha256"] = err.Error()
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
