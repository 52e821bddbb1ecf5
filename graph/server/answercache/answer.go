package answercache

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/graph/server/response"
	"github.com/kairship-io/kairship/pkg/audit"
	"github.com/kairship-io/kairship/pkg/authz"
)

// operationKey stands for an operation and for all that its answer depends on: equal ones
// have the same answer at the same moment.
type operationKey [sha256.Size]byte

// keyOf returns the key of an operation: its document, its name in it, its
// variables in any order, and all that its caller may do. There is none, and false, where
// users cannot be compared.
func keyOf(op *graphql.OperationContext, grants *authz.Visibility) (operationKey, bool) {
	key, known := grants.Key()
	if !known || op.RawQuery == "" {
		return operationKey{}, false
	}
	variables, err := json.Marshal(op.Variables) // It sorts the keys.
	if err != nil {
		return operationKey{}, false
	}
	h := sha256.New()
	for _, part := range []string{op.RawQuery, op.Operation.Name, string(variables), key} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return operationKey(h.Sum(nil)), true
}

// Answer is what an operation was answered.
type Answer struct {
	Response *graphql.Response
	// Live is set when an instance was asked, as the caller.
	Live bool
	// body is the result as JSON, where it may be shared, and record what was decided
	// about its caller.
	body   []byte
	record *audit.Record

	// mu guards encodings, by what clients accept.
	mu        sync.Mutex
	encodings map[string]response.Encoded
}

const (
	// maxEncodings is how many encodings of an answer are kept: clients of one kind accept
	// the same.
	maxEncodings = 2
	// maxAccepted is the longest header Accept-Encoding for which one is kept.
	maxAccepted = 64
	// answerMemory is what an answer takes beside its bytes, and nameMemory what it takes
	// for each instance in its record.
	answerMemory, nameMemory = 2 << 10, 64
)

// encode writes the result, of which nothing changes afterwards.
func (a *Answer) encode(record *audit.Record) {
	var b bytes.Buffer
	b.Grow(len(a.Response.Data) + 64)
	response.AppendResult(&b, a.Response)
	a.body, a.record = b.Bytes(), record
	if n := len(a.Response.Data); n > 0 {
		// The data is in the body: there is no need to keep it twice.
		from := len(`{"data":`)
		a.Response.Data = a.body[from : from+n : from+n]
	}
}

// size returns how many bytes of memory the answer takes, with what may be encoded later: a
// compressed body is not longer.
func (a *Answer) size() int64 {
	return int64(len(a.body))*(1+maxEncodings) + answerMemory + int64(a.record.Names())*nameMemory
}

// Write answers a request with it.
func (a *Answer) Write(w http.ResponseWriter, r *http.Request, mediaType string) {
	if a.body == nil {
		response.WriteResult(w, r, mediaType, a.Response)
		return
	}
	a.encoded(r).Write(w, mediaType)
}

// encoded compresses the body once for all clients that accept the same.
func (a *Answer) encoded(r *http.Request) response.Encoded {
	accepted := strings.Join(r.Header.Values("Accept-Encoding"), ",")
	a.mu.Lock()
	defer a.mu.Unlock()
	if e, ok := a.encodings[accepted]; ok {
		return e
	}
	e := response.Compress(r, a.body)
	if len(a.encodings) < maxEncodings && len(accepted) <= maxAccepted {
		if a.encodings == nil {
			a.encodings = map[string]response.Encoded{}
		}
		a.encodings[accepted] = e
	}
	return e
}

// Len returns how many bytes of an answer are kept while it is sent.
func (a *Answer) Len() int64 { return int64(len(a.body)) }
