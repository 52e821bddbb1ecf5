package live

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/consistency"
)

// partID is a fingerprint of a view's key.
type partID [8]byte

func newPartID(key string) partID {
	sum := sha256.Sum256([]byte(key))
	return partID(sum[:8])
}

// place is what a cursor says of a source.
type place struct {
	// scope is a fingerprint of Interest.Scope.
	scope    uint32
	position position
}

// scopeOf is the fingerprint of a scope. Nobody can make one that is like another's:
// cursors are signed.
func scopeOf(scope string) uint32 {
	sum := sha256.Sum256([]byte(scope))
	return binary.BigEndian.Uint32(sum[:4])
}

// CursorArgument is what errors about a cursor name.
const CursorArgument = "after"

const (
	// cursorFormat begins every cursor, so that another format can follow.
	cursorFormat = 1
	// maxCursor is the length of the longest text that is looked at.
	maxCursor = 64 << 10
	macSize   = 16
	headSize  = 1 + consistency.KeyIDSize
)

// sealer signs the cursors of one subscription.
type sealer struct {
	id       [consistency.KeyIDSize]byte
	key      []byte
	identity [8]byte
}

func newSealer(key []byte, identity string) *sealer {
	sum := sha256.Sum256([]byte(identity))
	return &sealer{id: consistency.KeyID(key), key: cursorKey(key), identity: [8]byte(sum[:8])}
}

// cursorKey is a key for cursors alone.
func cursorKey(key []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("kairship live cursor"))
	return h.Sum(nil)
}

func (s *sealer) mac(text []byte) []byte {
	h := hmac.New(sha256.New, s.key)
	h.Write(text)
	return h.Sum(nil)[:macSize]
}

// Flags of a step.
const (
	stepTold = 1 << iota
	stepEnd
	stepOpen
)

// write makes a cursor.
func (s *sealer) write(positions map[partID]place, order []partID) string {
	out := make([]byte, 0, 32+len(order)*24+macSize)
	out = append(append(out, cursorFormat), s.id[:]...)
	out = append(out, s.identity[:]...)
	out = binary.AppendUvarint(out, uint64(len(order)))
	for _, id := range order {
		out = append(out, id[:]...)
		at := positions[id]
		out = binary.BigEndian.AppendUint32(out, at.scope)
		out = binary.AppendUvarint(out, uint64(len(at.position)))
		for _, step := range at.position {
			out = appendStep(out, step)
		}
	}
	return base64.RawURLEncoding.EncodeToString(append(out, s.mac(out)...))
}

func appendStep(out []byte, s step) []byte {
	flags := byte(0)
	for flag, set := range map[byte]bool{stepTold: s.stamp != nil, stepEnd: s.end, stepOpen: s.open} {
		if set {
			flags |= flag
		}
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

var errNotOurs = apierror.Invalid(CursorArgument, "this is no cursor of this subscription: send one that an event of it had, for the same filters, or none")

// read tells what a cursor says. It returns nothing, and no error, for a cursor that
// was signed with a key that is gone: like history that is lost. The error is
// INVALID for what is no cursor of this subscription.
func (s *sealer) read(ctx context.Context, keys consistency.Keys, text string) (map[partID]place, error) {
	if len(text) > maxCursor {
		return nil, errNotOurs
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < headSize+macSize || raw[0] != cursorFormat {
		return nil, errNotOurs
	}
	signer := *s
	if id := [consistency.KeyIDSize]byte(raw[1:headSize]); id != s.id {
		key, err := keys.Find(ctx, id)
		if err != nil {
			return nil, unreadable(err)
		}
		if key == nil {
			return nil, nil
		}
		signer.key = cursorKey(key)
	}
	body, mac := raw[:len(raw)-macSize], raw[len(raw)-macSize:]
	if !hmac.Equal(mac, signer.mac(body)) {
		return nil, errNotOurs
	}
	r := &cursorReader{rest: body[headSize:]}
	if [8]byte(r.bytes(8)) != s.identity {
		return nil, errNotOurs
	}
	positions := map[partID]place{}
	for n := r.number(); n > 0 && !r.failed; n-- {
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
	if flags&stepTold != 0 {
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
	parts := s.parts
	positions := make(map[partID]place, len(parts))
	order := make([]partID, 0, len(parts))
	for _, p := range parts {
		// What is seen was offered before, so that nothing waits means it was read.
		if seen := p.seen.Load(); seen != nil && p.idle() && seen.sequence > p.reading.at.sequence {
			p.progress, p.reading.at = progress{at: seen, done: true}, seen
		}
		if at := p.progress.position(); at != nil {
			positions[p.id] = place{p.scope, at}
			order = append(order, p.id)
		}
	}
	s.mu.Unlock()
	return s.seal.write(positions, order)
}

// open reads the cursor that a subscription goes on from.
func (s *sealer) open(ctx context.Context, keys consistency.Keys, text string) (map[partID]place, bool, error) {
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
