package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// containerTools speak the same language.
var containerTools = []string{"docker", "podman"}

// container is a running container and the image it was made from.
type container struct {
	id       string
	pid      int64    // of its first process, on this host
	asked    string   // the image as it was asked for: name, tag or digest
	imageID  string   // local: it proves nothing on another host
	digests  []string // NAME@sha256:…, as registries know the image
	inspects string   // what the tool said of the image
}

var containerID = regexp.MustCompile(`[0-9a-f]{64}`)

// containerOf asks which container a process runs in; nil when its control group names
// none.
func (m *machine) containerOf(ctx context.Context, pid int64) (*container, error) {
	s, err := m.read("proc", fmt.Sprint(pid), "cgroup")
	if err != nil {
		return nil, err
	}
	id := containerID.FindString(s)
	if id == "" {
		return nil, nil
	}
	return m.inspect(ctx, id)
}

// containerAt asks which container publishes a port of this host.
func (m *machine) containerAt(ctx context.Context, port string) (*container, error) {
	var problems []error
	for _, tool := range containerTools {
		out, err := m.run(ctx, "", nil, tool, "ps", "--quiet", "--no-trunc", "--filter", "publish="+port)
		if errors.Is(err, exec.ErrNotFound) {
			continue
		}
		if id := strings.TrimSpace(out); err == nil && containerID.MatchString(id) {
			return m.inspect(ctx, containerID.FindString(id))
		}
		problems = append(problems, err)
	}
	if len(problems) == 0 {
		return nil, errors.New("there is neither docker nor podman on PATH to ask")
	}
	return nil, errors.Join(problems...)
}

// inspect reads a container and then, by its local id, its image.
func (m *machine) inspect(ctx context.Context, id string) (*container, error) {
	var problems []error
	for _, tool := range containerTools {
		out, err := m.run(ctx, "", nil, tool, "container", "inspect", id)
		if errors.Is(err, exec.ErrNotFound) {
			continue
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		var said []struct {
			ID    string `json:"Id"`
			Image string `json:"Image"`
			State struct {
				PID int64 `json:"Pid"`
			} `json:"State"`
			Config struct {
				Image string `json:"Image"`
			} `json:"Config"`
		}
		if err := json.Unmarshal([]byte(out), &said); err != nil || len(said) != 1 {
			problems = append(problems, fmt.Errorf("%s container inspect answered in an unknown form", tool))
			continue
		}
		c := &container{id: said[0].ID, pid: said[0].State.PID, asked: said[0].Config.Image, imageID: said[0].Image}
		return c, m.inspectImage(ctx, tool, c)
	}
	c, err := m.inspectCRI(ctx, id)
	switch {
	case err == nil:
		return c, nil
	case !errors.Is(err, exec.ErrNotFound):
		problems = append(problems, err)
	case len(problems) == 0:
		return nil, fmt.Errorf("it runs in container %.12s, and there is none of docker, podman and crictl on PATH to ask", id)
	}
	return nil, errors.Join(problems...)
}

// inspectCRI asks the runtime of a Kubernetes node, which knows an image by its digest.
func (m *machine) inspectCRI(ctx context.Context, id string) (*container, error) {
	out, err := m.run(ctx, "", nil, "crictl", "inspect", "--output", "json", id)
	if err != nil {
		return nil, err
	}
	var said struct {
		Status struct {
			ID    string `json:"id"`
			Image struct {
				Image string `json:"image"`
			} `json:"image"`
			ImageRef string `json:"imageRef"`
		} `json:"status"`
		Info struct {
			PID int64 `json:"pid"`
		} `json:"info"`
	}
	if err := json.Unmarshal([]byte(out), &said); err != nil || said.Status.ID == "" {
		return nil, errors.New("crictl inspect answered in an unknown form")
	}
	c := &container{id: said.Status.ID, pid: said.Info.PID, asked: said.Status.Image.Image, imageID: said.Status.ImageRef}
	if _, digest, ok := strings.Cut(c.imageID, "@"); ok && strings.HasPrefix(digest, "sha256:") {
		c.digests = []string{c.imageID}
		if containsID(c.asked) || c.asked == "" {
			c.asked = c.imageID
		}
	}
	return c, nil
}

// apptainerVariables tell a process that it runs from an image of apptainer, or of
// singularity, as that was called.
var apptainerVariables = []string{"APPTAINER_CONTAINER", "SINGULARITY_CONTAINER"}

// apptainer is the image that a process was started from by apptainer; ok is false where it
// was not. The error says why the image is known by no digest.
func (m *machine) apptainer(p *process) (image string, ok bool, err error) {
	file := ""
	for _, name := range apptainerVariables {
		if file == "" {
			file = p.env[name]
		}
	}
	if file == "" {
		return "", false, nil
	}
	file = filepath.Base(file)
	b, err := os.ReadFile(m.file(p, "/.singularity.d/labels.json"))
	if err != nil {
		return "", true, fmt.Errorf("it runs from the apptainer image %s, whose labels cannot be read: %w", file, err)
	}
	var labels map[string]any
	if json.Unmarshal(b, &labels) != nil {
		return "", true, fmt.Errorf("it runs from the apptainer image %s, whose labels are no JSON", file)
	}
	from, _ := labels["org.label-schema.usage.singularity.deffile.from"].(string)
	switch {
	case from == "":
		return "", true, fmt.Errorf("it runs from the apptainer image %s, whose labels name no image that it was made from", file)
	case !strings.Contains(from, "@sha256:"):
		return "", true, fmt.Errorf("it runs from the apptainer image %s, made from %s without a digest; build it from NAME@sha256:…", file, from)
	}
	return from, true, nil
}

func (m *machine) inspectImage(ctx context.Context, tool string, c *container) error {
	out, err := m.run(ctx, "", nil, tool, "image", "inspect", c.imageID)
	if err != nil {
		return err
	}
	var said []struct {
		RepoDigests []string `json:"RepoDigests"`
	}
	if err := json.Unmarshal([]byte(out), &said); err != nil || len(said) != 1 {
		return fmt.Errorf("%s image inspect answered in an unknown form", tool)
	}
	for _, d := range said[0].RepoDigests {
		if !slices.Contains(c.digests, d) {
			c.digests = append(c.digests, d)
		}
	}
	c.inspects = out
	return nil
}

// image is the image as a registry knows it: the name that it was asked for by, with
// that name's own digest. The error says why there is none.
func (c *container) image() (string, error) {
	name := repository(c.asked)
	var others []string
	if strings.HasPrefix(name, "localhost/") {
		return "", fmt.Errorf("image %s has no registry digest: it was built here (its local id is %s)", c.asked, c.imageID)
	}
	for _, d := range c.digests {
		if repository(d) == name {
			return d, nil
		}
		others = append(others, d)
	}
	switch {
	case len(c.digests) == 0:
		return "", fmt.Errorf("image %s has no registry digest: it was built here (its local id is %s)", c.asked, c.imageID)
	case containsID(c.asked):
		return others[0], nil // asked for by local id: any name it was pulled under will do
	}
	return "", fmt.Errorf("image %s has no registry digest under that name; it has %s", c.asked, strings.Join(others, ", "))
}

func containsID(asked string) bool {
	return strings.HasPrefix(asked, "sha256:") || containerID.MatchString(asked) && !strings.ContainsAny(asked, "/@")
}

// repository is an image's name without tag and digest. A port in a registry's address
// is no tag.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		image = image[:i]
	}
	image = strings.TrimPrefix(image, "docker.io/")
	return strings.TrimPrefix(image, "library/")
}
