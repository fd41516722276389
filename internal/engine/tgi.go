package engine

import "encoding/json"

// takeInfo reads TGI's /info: its version, its one model and how long prompt and output
// together may be.
func (s *Server) takeInfo(info []byte) {
	s.show(pathInfo, info)
	var i struct {
		Model   string `json:"model_id"`
		Version string `json:"version"`
		Most    *int64 `json:"max_total_tokens"`
	}
	if json.Unmarshal(info, &i) != nil {
		return
	}
	s.Version = visible([]byte(i.Version), 100)
	s.add(ServedModel{ID: i.Model})
	s.limit(i.Most)
}
