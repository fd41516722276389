package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"

	"rowproof/internal/version"
)

// failure is a refusal in the form that OpenAI-compatible servers use.
type failure struct {
	status  int
	kind    string
	param   string
	message string
}

func (s *Server) refuse(w *writer, req *http.Request, f failure) bool {
	s.count.refused.Add(1)
	var param *string
	if f.param != "" {
		param = &f.param
	}
	return replyJSON(w, req, f.status, map[string]any{"error": map[string]any{
		"message": f.message, "type": f.kind, "param": param, "code": f.status,
	}})
}

func replyJSON(w *writer, req *http.Request, status int, v any) bool {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps and structs of plain values only
	}
	return reply(w, req, status, "application/json", b)
}

// reply writes a whole answer and returns false when the connection has failed.
func reply(w *writer, req *http.Request, status int, kind string, body []byte) bool {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nServer: rowproof\r\nContent-Type: %s\r\nContent-Length: %d\r\n", status, http.StatusText(status), kind, len(body))
	if req == nil || req.Close {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString("\r\n")
	if req == nil || req.Method != http.MethodHead {
		b.Write(body)
	}
	return w.write(b.Bytes()) == nil
}

func (s *Server) version() any {
	return map[string]string{"version": version.Release, "engine": "embedded"}
}

func (s *Server) models() any {
	return map[string]any{"object": "list", "data": []any{map[string]any{
		"id": s.cfg.Model, "object": "model", "created": s.count.started.Unix(),
		"owned_by": "rowproof", "max_model_len": s.cfg.MaxModelLen,
	}}}
}

func (s *Server) metrics() []byte {
	var b bytes.Buffer
	s.count.write(&b)
	return b.Bytes()
}
