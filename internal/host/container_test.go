package host

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

const (
	boxID = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	sgl   = "registry.example/sgl"
)

func digest(twoHex string) string { return "sha256:" + strings.Repeat(twoHex, 32) }

// boxed is a host whose vLLM runs in a container that docker knows.
func boxed(t *testing.T, asked, imageID, repoDigests string) *machine {
	r := vllmRoot(t)
	r.link("proc/800/ns/mnt", "mnt:[2]")
	r.link("proc/self/ns/mnt", "mnt:[1]")
	r.write("proc/800/cgroup", "0::/system.slice/docker-"+boxID+".scope\n")
	m := r.machine()
	m.run = func(_ context.Context, _ string, _ []string, tool string, args ...string) (string, error) {
		if tool != "docker" {
			return "", &toolError{tool, exec.ErrNotFound, ""}
		}
		switch call := strings.Join(args, " "); call {
		case "ps --quiet --no-trunc --filter publish=8000":
			return boxID + "\n", nil
		case "container inspect " + boxID:
			return fmt.Sprintf(`[{"Id": %q, "Image": %q, "State": {"Pid": 800}, "Config": {"Image": %q}}]`, boxID, imageID, asked), nil
		case "image inspect " + imageID:
			return fmt.Sprintf(`[{"Id": %q, "RepoTags": ["other.example/x:v9"], "RepoDigests": %s}]`, imageID, repoDigests), nil
		default:
			return "", fmt.Errorf("called as %s %s", tool, call)
		}
	}
	return m
}

func TestImageOfAContainer(t *testing.T) {
	noSMI(t)
	for _, c := range []struct {
		name, asked, id, digests string
		want, says               string
	}{
		{"the id is the config's digest", sgl + ":v1", digest("a1"), `["` + sgl + "@" + digest("b2") + `"]`, sgl + "@" + digest("b2"), ""},
		{"the id is the manifest's digest", sgl + ":v1", digest("b2"), `["` + sgl + "@" + digest("b2") + `", "` + sgl + "@" + digest("b2") + `"]`, sgl + "@" + digest("b2"), ""},
		{"asked for by digest", sgl + "@" + digest("b2"), digest("a1"), `["` + sgl + "@" + digest("b2") + `"]`, sgl + "@" + digest("b2"), ""},
		{"built here", sgl + ":v1", digest("c3"), `[]`, "", "has no registry digest: it was built here (its local id is " + digest("c3")},
		{"a mirror's digest is not this name's", sgl + ":v1", digest("a1"),
			`["mirror.example/sgl@` + digest("b2") + `", "` + sgl + "@" + digest("d4") + `"]`, sgl + "@" + digest("d4"), ""},
		{"a mirror's digest alone", sgl + ":v1", digest("a1"), `["mirror.example/sgl@` + digest("b2") + `"]`, "", "under that name; it has mirror.example/sgl@" + digest("b2")},
		{"a registry with a port", "localhost:5000/sgl:v1", digest("a1"), `["localhost:5000/sgl@` + digest("b2") + `"]`, "localhost:5000/sgl@" + digest("b2"), ""},
		{"the default registry", "vllm/vllm-openai:v1", digest("a1"), `["docker.io/vllm/vllm-openai@` + digest("b2") + `"]`, "docker.io/vllm/vllm-openai@" + digest("b2"), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec, _ := boxed(t, c.asked, c.id, c.digests).receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000")})
			if rec.Runtime.Kind != "image" || rec.Runtime.Image != c.want {
				t.Errorf("runtime %s %q, want image %q", rec.Runtime.Kind, rec.Runtime.Image, c.want)
			}
			if said := rec.Unread["runtime.image"]; !strings.Contains(said, c.says) || (c.says == "") != (said == "") {
				t.Errorf("unread %q, want %q", said, c.says)
			}
		})
	}
}

// Where a published port belongs to docker's own forwarder, the container behind it
// is the server.
func TestAPublishedPort(t *testing.T) {
	noSMI(t)
	m := boxed(t, sgl+":v1", digest("a1"), `["`+sgl+"@"+digest("b2")+`"]`)
	r := &fakeRoot{t, m.root}
	r.process(700, 1, []string{"/usr/bin/docker-proxy"}, nil)
	r.write("proc/700/comm", "docker-proxy\n")
	r.link("proc/700/fd/4", "socket:[5000]")
	r.write("proc/net/tcp", tcpTable(8000, "5000"))
	rec, ev := m.receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000")})
	if ev.Process == nil || ev.Process.PID != 800 || rec.Runtime.Image != sgl+"@"+digest("b2") {
		t.Errorf("process %+v, image %q, unread %v", ev.Process, rec.Runtime.Image, rec.Unread)
	}
}

// Other runtimes know their images in other ways.
func TestImageOfOtherRuntimes(t *testing.T) {
	noSMI(t)
	pod := "0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" + boxID + ".scope\n"
	crictl := func(ref, asked string) string {
		return fmt.Sprintf(`{"status": {"id": %q, "image": {"image": %q}, "imageRef": %q}, "info": {"pid": 800}}`, boxID, asked, ref)
	}
	podman := fmt.Sprintf(`[{"Id": %q, "Image": %q, "ImageName": "localhost/sgl:v1", "State": {"Pid": 800}, "Config": {"Image": "localhost/sgl:v1"}}]`, boxID, strings.Repeat("a1", 32))
	for _, c := range []struct {
		name, cgroup, tool, container, image string
		env                                  []string
		labels                               string
		kind, want, says                     string
	}{
		{"containerd", pod, "crictl", crictl(sgl+"@"+digest("b2"), sgl+":v1"), "", nil, "", "image", sgl + "@" + digest("b2"), ""},
		{"containerd by id", pod, "crictl", crictl(sgl+"@"+digest("b2"), digest("a1")), "", nil, "", "image", sgl + "@" + digest("b2"), ""},
		{"containerd, built there", pod, "crictl", crictl(digest("a1"), sgl+":v1"), "", nil, "", "image", "", "has no registry digest"},
		{"containerd without its tool", pod, "", "", "", nil, "", "", "", "none of docker, podman and crictl on PATH"},
		{"podman, built here", "0::/machine.slice/libpod-" + boxID + ".scope\n", "podman", podman,
			`[{"RepoDigests": ["localhost/sgl@` + digest("d4") + `"]}]`, nil, "", "image", "", "it was built here"},
		{"apptainer", "0::/user.slice\n", "", "", "", []string{"APPTAINER_CONTAINER=/home/me/vllm.sif"},
			`{"org.label-schema.usage.singularity.deffile.from": "` + sgl + "@" + digest("b2") + `"}`, "image", sgl + "@" + digest("b2"), ""},
		{"singularity, of a tag", "0::/user.slice\n", "", "", "", []string{"SINGULARITY_CONTAINER=/home/me/vllm.sif"},
			`{"org.label-schema.usage.singularity.deffile.from": "` + sgl + `:v1"}`, "image", "", "image vllm.sif, made from " + sgl + ":v1 without a digest"},
		{"no runtime that we know", "0::/user.slice\n", "", "", "", nil, "", "", "", "its control group names no container"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := vllmRoot(t)
			r.link("proc/800/ns/mnt", "mnt:[2]")
			r.link("proc/self/ns/mnt", "mnt:[1]")
			r.write("proc/800/cgroup", c.cgroup)
			r.write("proc/800/environ", strings.Join(c.env, "\x00"))
			if c.labels != "" {
				r.write("proc/800/root/.singularity.d/labels.json", c.labels)
			}
			m := r.machine()
			m.run = func(_ context.Context, _ string, _ []string, tool string, args ...string) (string, error) {
				switch {
				case tool != c.tool:
					return "", &toolError{tool, exec.ErrNotFound, ""}
				case args[0] == "image":
					return c.image, nil
				}
				return c.container, nil
			}
			rec, _ := m.receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000")})
			if rec.Runtime.Image != c.want || c.kind != "" && rec.Runtime.Kind != c.kind {
				t.Errorf("runtime %s %q, want %s %q", rec.Runtime.Kind, rec.Runtime.Image, c.kind, c.want)
			}
			if said := rec.Unread["runtime.image"]; !strings.Contains(said, c.says) || (c.says == "") != (said == "") {
				t.Errorf("unread %q, want %q", said, c.says)
			}
		})
	}
}

// In the server's own pod or container nothing tells its image: the receipt says who does.
func TestInTheServersOwnContainer(t *testing.T) {
	noSMI(t)
	pod := vllmRoot(t)
	pod.write("proc/800/environ", "PYTHONPATH=/opt/extra\x00KUBERNETES_SERVICE_HOST=10.0.0.1\x00")
	box := vllmRoot(t)
	box.write(".dockerenv", "")
	for says, r := range map[string]*fakeRoot{"kubectl get pod": pod, "docker or podman on its host": box} {
		rec, _ := vllmMachine(t, r).receipt(context.Background(), ServerRef{Base: parseURL(t, "http://127.0.0.1:8000")})
		if !strings.Contains(rec.Unread["runtime.image"], says) || rec.Runtime.Image != "" {
			t.Errorf("image %q, unread %q, want %q", rec.Runtime.Image, rec.Unread["runtime.image"], says)
		}
	}
}
