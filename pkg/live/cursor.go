package live

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/consistency"
)

// partID is a fingerprint of a view's key.
type partID [8]byte

func newPartID(key string) partID {
	sum := sha256.Sum256([]byte(key))
	return partID(sum[:8])
}

// place is what a cursor records about a source.
type place struct {
	// scope is a fingerprint of Interest.Scope.
	scope    uint32
	position position
}

// scopeOf is the fingerprint of a scope. No client can make one that is like another's:
// cursors are signed.
func scopeOf(scope string) uint32 {
	sum := sha256.Sum256([]byte(scope))
	return binary.BigEndian.Uint32(sum[:4])
}

// cursorArgument is what errors about a cursor name.
const cursorArgument = "after"

const (
	// cursorFormat begins every cursor, so that another format can follow.
	cursorFormat = 1
	// maxCursor is the length of the longest text that is looked at, and maxWritten of
	// the longest that is made: a browser sends it in a header, and servers and proxies
	// take few that are longer.
	maxCursor, maxWritten = 64 << 10, 48 << 10
	// tooMany is written in place of the number of sources when a cursor can't hold them all: a
	// subscription that resumes from it begins again.
	tooMany  = 1 << 32
	macSize  = 16
	headSize = 1 + consistency.KeyIDSize
)

// sealer signs the cursors of one subscription.
type sealer struct {
	*signer

	identity [8]byte
}

func newSealer(key []byte, identity string) sealer {
	sum := sha256.Sum256([]byte(identity))
	return sealer{signer: signerOf(key), identity: [8]byte(sum[:8])}
}

// signer signs with a key, for all subscriptions: a cursor goes with each event.
type signer struct {
	id  [consistency.KeyIDSize]byte
	key []byte
	// buffers holds cursorBuffers.
	buffers sync.Pool
}

// cursorBuffer holds the memory that making a cursor needs.
type cursorBuffer struct {
	mac  hash.Hash
	text []byte
	sum  [sha256.Size]byte
}

// latest is the signer that was asked for last: there is one key at a time.
var latest atomic.Pointer[signer]

func signerOf(key []byte) *signer {
	if known := latest.Load(); known != nil && hmac.Equal(known.key, key) {
		return known
	}
	s := signerWith(key)
	latest.Store(s)
	return s
}

func signerWith(key []byte) *signer {
	s := &signer{id: consistency.KeyID(key), key: slices.Clone(key)}
	own := cursorKey(key)
	s.buffers.New = func() any { return &cursorBuffer{mac: hmac.New(sha256.New, own)} }
	return s
}

// cursorKey is a key for cursors alone.
func cursorKey(key []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("kairship live cursor"))
	return h.Sum(nil)
}

// signed reports whether a signature is one of the signer's.
func (s *signer) signed(text, mac []byte) bool {
	b := s.buffers.Get().(*cursorBuffer)
	defer s.buffers.Put(b)
	return hmac.Equal(mac, b.sign(text))
}

// sign is the signature of a text, until the buffer is used again.
func (b *cursorBuffer) sign(text []byte) []byte {
	b.mac.Reset()
	b.mac.Write(text)
	return b.mac.Sum(b.sum[:0])[:macSize]
}

// Flags of a step.
const (
	stepStamped = 1 << iota
	stepEnd
	stepOpen
)

// placed is a place with what it is of.
type placed struct {
	id partID
	place
}

// write makes a cursor.
func (s sealer) write(places []placed) string {
	b := s.buffers.Get().(*cursorBuffer)
	defer s.buffers.Put(b)
	out := s.head(b)
	out = binary.AppendUvarint(out, uint64(len(places)))
	for i := range places {
		at := &places[i]
		out = append(out, at.id[:]...)
		out = binary.BigEndian.AppendUint32(out, at.scope)
		out = binary.AppendUvarint(out, uint64(len(at.position)))
		for j := range at.position {
			out = appendStep(out, &at.position[j])
		}
	}
	if base64.RawURLEncoding.EncodedLen(len(out)+macSize) > maxWritten {
		out = binary.AppendUvarint(s.head(b), tooMany)
	}
	out = append(out, b.sign(out)...)
	raw := len(out)
	out = base64.RawURLEncoding.AppendEncode(out, out[:raw])
	b.text = out
	return string(out[raw:])
}

func (s sealer) head(b *cursorBuffer) []byte {
	out := append(append(b.text[:0], cursorFormat), s.id[:]...)
	return append(out, s.identity[:]...)
}

func appendStep(out []byte, s *step) []byte {
	flags := byte(0)
	if s.stamp != nil {
		flags |= stepStamped
	}
	if s.end {
		flags |= stepEnd
	}
	if s.open {
		flags |= stepOpen
	}
	out = append(out, flags)
	if s.stamp != nil {
		out = binary.BigEndian.AppendUint32(out, s.stamp.epoch)
		out = binary.AppendUvarint(out, uint64(len(s.stamp.versions)))
		for _, v := range s.stamp.versions {
			out = binary.AppendUvarint(out, v)
		}
	}
	if s.end {
		return out
	}
	for _, text := range []string{s.last.Namespace, s.last.Name} {
		out = binary.AppendUvarint(out, uint64(len(text)))
		out = append(out, text...)
	}
	return out
}

var errNotOurs = apierror.Invalid(cursorArgument, "this is no cursor of this subscription: send one that an event of it had, for the same filters, or none")

// read returns what a cursor says. It returns nothing, and no error, for a cursor that
// was signed with a key that was removed, and for one of too many places: like history
// that is lost. The error is
// INVALID for what is no cursor of this subscription.
func (s sealer) read(ctx context.Context, keys consistency.Keys, text string) (map[partID]place, error) {
	if len(text) > maxCursor {
		return nil, errNotOurs
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < headSize+macSize || raw[0] != cursorFormat {
		return nil, errNotOurs
	}
	signer := s.signer
	if id := [consistency.KeyIDSize]byte(raw[1:headSize]); id != s.id {
		key, err := keys.Find(ctx, id)
		if err != nil {
			return nil, unreadable(err)
		}
		if key == nil {
			return nil, nil
		}
		signer = signerWith(key)
	}
	body, mac := raw[:len(raw)-macSize], raw[len(raw)-macSize:]
	if !signer.signed(body, mac) {
		return nil, errNotOurs
	}
	r := &cursorReader{rest: body[headSize:]}
	if [8]byte(r.bytes(8)) != s.identity {
		return nil, errNotOurs
	}
	positions, n := map[partID]place{}, r.number()
	if n == tooMany {
		return nil, nil
	}
	for ; n > 0 && !r.failed; n-- {
		id := partID(r.bytes(8))
		at := place{scope: binary.BigEndian.Uint32(r.bytes(4))}
		for steps := r.number(); steps > 0 && !r.failed; steps-- {
			at.position = append(at.position, r.step())
		}
		positions[id] = at
	}
	if r.failed {
		return nil, errNotOurs
	}
	return positions, nil
}

func unreadable(err error) error {
	return apierror.Wrap(err, apierror.CodeTimeout, "cursors cannot be signed or read now; try again")
}

// cursorReader reads the parts of a cursor. What is not there reads as zero.
type cursorReader struct {
	rest   []byte
	failed bool
}

func (r *cursorReader) bytes(n int) []byte {
	if len(r.rest) < n {
		r.failed, r.rest = true, nil
		return make([]byte, min(n, maxCursor))
	}
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *cursorReader) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.failed, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *cursorReader) text() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.failed, r.rest = true, nil
		return ""
	}
	return string(r.bytes(int(n))) //nolint:gosec // It is no longer than the rest.
}

func (r *cursorReader) step() step {
	flags := r.bytes(1)[0]
	s := step{end: flags&stepEnd != 0, open: flags&stepOpen != 0}
	if flags&stepStamped != 0 {
		s.stamp = &stamp{epoch: binary.BigEndian.Uint32(r.bytes(4))}
		for n := r.number(); n > 0 && !r.failed; n-- {
			s.stamp.versions = append(s.stamp.versions, r.number())
		}
	}
	if !s.end {
		s.last = Key{Namespace: r.text(), Name: r.text()}
	}
	return s
}

// Cursor is the text to go on from after this event. It is made when asked for, and
// only until the next call of Next.
func (e *Event) Cursor() string {
	if e.stream == nil {
		return ""
	}
	return e.stream.cursor()
}

// cursor says how far the stream has been read. A part that has nothing to say is
// as far as what it has seen.
func (s *Stream) cursor() string {
	s.mu.Lock()
	var few [4]placed
	places := few[:0]
	for _, p := range s.parts {
		// What is seen was offered before, so that nothing waits means it was read.
		if seen := p.seen.Load(); seen != nil && p.idle() && seen.sequence > p.reading.at.sequence {
			p.progress, p.reading.at = progress{at: seen, done: true}, seen
		}
		if at := p.progress.position(); at != nil {
			places = append(places, placed{p.id, place{p.scope, at}})
		}
	}
	s.mu.Unlock()
	return s.seal.write(places)
}

// open reads the cursor that a subscription goes on from.
func (s sealer) open(ctx context.Context, keys consistency.Keys, text string) (map[partID]place, bool, error) {
	if text == "" {
		return nil, false, nil
	}
	positions, err := s.read(ctx, keys, text)
	if err != nil {
		if errors.Is(err, errNotOurs) {
			return nil, false, errNotOurs
		}
		return nil, false, err
	}
	return positions, positions == nil, nil
}
