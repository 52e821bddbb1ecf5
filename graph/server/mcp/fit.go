package mcp

import (
	"encoding/json"
	"fmt"
)

// mostBytes is how long an answer may be: what an assistant reads at once.
const mostBytes = 64 << 10

// cut reports what is missing in an answer that was too long.
type cut struct {
	Shown int    `json:"shown"`
	Of    int    `json:"of"`
	Hint  string `json:"hint"`
}

// fit shortens an answer: of a list, it leaves out the last objects. It adds what is missing because of problems.
func fit(object []byte, problems []string) ([]byte, error) {
	if len(object) <= mostBytes && len(problems) == 0 {
		return object, nil
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(object, &fields); err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		fields["missing"] = encoded(problems)
	}
	if len(object) > mostBytes {
		var nodes []json.RawMessage
		if err := json.Unmarshal(fields["nodes"], &nodes); err != nil || len(nodes) == 0 {
			return nil, fmt.Errorf("the answer has %d bytes, and a tool returns %d at most: ask for less, or for a part of it", len(object), mostBytes)
		}
		size, shown := len(object)-len(fields["nodes"]), 0
		for shown < len(nodes) && size+len(nodes[shown]) < mostBytes {
			size += len(nodes[shown]) + 1
			shown++
		}
		fields["nodes"] = encoded(nodes[:shown])
		fields["cut"] = encoded(cut{Shown: shown, Of: len(nodes), Hint: "the rest is too long: ask with a smaller first, or a filter"})
		// The cursor stands behind what was left out.
		delete(fields, "pageInfo")
	}
	return json.Marshal(fields)
}

// encoded is a value of this package as JSON, which always can be written.
func encoded(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
