package host

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// planted are secrets in forms that no issuer's pattern tells: only where they stand does.
var planted = map[string]string{
	"HF_TOKEN":                "plain-hub-token-1111",
	"AWS_SECRET_ACCESS_KEY":   "wJalrXUtnFEMI-K7MDENG-2222",
	"an --api-key":            "local-api-key-value-3333",
	"an --admin-api-key=":     "local-admin-value-4444",
	"a bearer header":         "opaquebearer5555",
	"a key in a URL":          "urlkey-6666",
	"a password in a URL":     "urlpass-7777",
	"a member of JSON":        "kvpassword-8888",
	"a member inside a text":  "innerapikey-9999",
	"a server's own report":   "reportedkey-aaaa",
	"an image's environment":  "imagesecret-bbbb",
	"an image's command":      "imagecommand-cccc",
	"a process's title":       "titledsecret-dddd",
	"the header it is asked":  "askedwith-eeee",
	"an environment not kept": "dbpassword-ffff",
}

// Secrets stand in the environment, on the command line, in JSON flags, in what the server
// reports of itself, in its image and in the titles of its processes: the receipt, its
// evidence and the readings of a row hold none.
func TestNoSecretLeaves(t *testing.T) {
	d := loadDevices(t, "testdata/h200.json")
	d.Apps[0]["process_name"] = "python3 -m engine --api-key " + planted["a process's title"]
	d.Apps = append(d.Apps, map[string]string{"gpu_uuid": d.GPUs[0]["uuid"], "pid": "811", "used_gpu_memory": "5 MiB",
		"process_name": "worker of " + planted["an --api-key"]})
	useSMI(t, d)

	image := digest("a1")
	inspected := fmt.Sprintf(`[{"Id": %q, "RepoDigests": [%q], "Config": {"Env": ["PATH=/bin", "SERVICE_PASSWORD=%s"], "Cmd": ["serve", "--api-key", %q]}}]`,
		image, sgl+"@"+digest("b2"), planted["an image's environment"], planted["an image's command"])
	r := vllmRoot(t)
	r.link("proc/800/ns/mnt", "mnt:[2]")
	r.link("proc/self/ns/mnt", "mnt:[1]")
	r.write("proc/800/cgroup", "0::/system.slice/docker-"+boxID+".scope\n")
	r.write("proc/800/cmdline", strings.Join([]string{"/opt/venv/bin/python3", "/opt/venv/bin/vllm", "serve", "models/tiny", "--load-format", "dummy",
		"--api-key", planted["an --api-key"], "--admin-api-key=" + planted["an --admin-api-key="],
		"--header", "Authorization: Bearer " + planted["a bearer header"],
		"--kv-transfer-config", `{"kv_connector": "X", "kv_connector_extra_config": {"redis_password": "` + planted["a member of JSON"] + `"}}`,
		"--override-generation-config", `{"note": "{\"api_key\": \"` + planted["a member inside a text"] + `\"}"}`,
		"--download", "https://store.example/w?part=1&apikey=" + planted["a key in a URL"], "https://me:" + planted["a password in a URL"] + "@store.example/",
		"--port", "8000"}, "\x00")+"\x00")
	r.write("proc/800/environ", strings.Join([]string{"HF_TOKEN=" + planted["HF_TOKEN"], "AWS_SECRET_ACCESS_KEY=" + planted["AWS_SECRET_ACCESS_KEY"],
		"DB_PASSWORD=" + planted["an environment not kept"], "VLLM_LOGGING_PREFIX=of " + planted["HF_TOKEN"], "VLLM_USE_V1=1"}, "\x00")+"\x00")
	m := r.machine()
	m.run = func(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
		switch filepath.Base(name) {
		case nvidiaSMI:
			return runTool(ctx, dir, env, name, args...)
		case "docker":
			if args[0] == "container" {
				return fmt.Sprintf(`[{"Id": %q, "Image": %q, "State": {"Pid": 800}, "Config": {"Image": %q, "Env": ["HF_TOKEN=%s"]}}]`, boxID, image, sgl+":v1", planted["HF_TOKEN"]), nil
			}
			return inspected, nil
		}
		return "", fmt.Errorf("%s failed with HF_TOKEN=%s --api-key %s", name, planted["HF_TOKEN"], planted["an --api-key"])
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no "+r.Header.Get("Authorization"), http.StatusUnauthorized)
	}))
	defer s.Close()
	ref := ServerRef{Base: parseURL(t, "http://127.0.0.1:8000"), Engine: "vllm", Version: "0.26.0",
		Header: http.Header{"Authorization": {"Bearer " + planted["the header it is asked"]}},
		Arguments: map[string]string{"api_key": planted["a server's own report"], "model": "models/tiny", "load_format": "dummy",
			"max_total_tokens": "4096", "admin_api_key": "None", "note": "asked with " + planted["the header it is asked"] + " by " + planted["an --api-key"],
			"json_model_override_args": `{"hub_token": "` + planted["HF_TOKEN"] + `"}`}}
	rec, ev := m.receipt(context.Background(), ref)
	if rec.Runtime.Image == "" || len(ev.Raw) < 3 || ev.Process == nil {
		t.Fatalf("too little was read: %s", asJSON(t, rec))
	}
	if a := rec.Engine.Arguments; a["api_key"] != masked || a["max_total_tokens"] != "4096" || a["admin_api_key"] != "None" || a["model"] != "models/tiny" {
		t.Errorf("arguments %v", a)
	}
	ref.PID = 800
	ref.Base = parseURL(t, s.URL)
	sampler := newSampler(m, ref)
	sampler.Start(context.Background(), monotonic())
	during := sampler.Stop()
	for what, text := range map[string]string{"receipt": asJSON(t, rec), "evidence": asJSON(t, ev), "readings of a row": asJSON(t, during)} {
		for where, secret := range planted {
			if i := strings.Index(text, secret); i >= 0 {
				t.Errorf("%s holds %s: …%s", what, where, text[max(0, i-80):i+len(secret)])
			}
		}
	}
}

// A name that only looks like a secret's keeps its value.
func TestWhatIsNoSecret(t *testing.T) {
	for _, text := range []string{
		"--tokenizer models/t --max-num-batched-tokens 8192", `{"num_speculative_tokens": 3, "method": "eagle"}`,
		"vllm/vllm-openai@sha256:" + strings.Repeat("b2", 32), "python3, --serve", "https://store.example/w?part=1",
	} {
		if got := maskText(text); got != text {
			t.Errorf("%q is masked to %q", text, got)
		}
	}
	if got := maskEnvironment(map[string]string{"TOKENIZERS_PARALLELISM": "false", "VLLM_TOKENIZER_PATH": "/models/t"}, nil); got["TOKENIZERS_PARALLELISM"] != "false" || got["VLLM_TOKENIZER_PATH"] != "/models/t" {
		t.Errorf("%v", got)
	}
}
