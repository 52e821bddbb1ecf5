package globalmanagement

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The headers of a signed request.
const (
	// TimestampHeader holds when the request was signed, in milliseconds since
	// 1970-01-01 00:00 UTC, as decimal digits.
	TimestampHeader = "Kairship-Timestamp"
	// SignatureHeader holds "sha256=" and the signature in lower-case hexadecimal
	// digits.
	SignatureHeader = "Kairship-Signature"
)

// signatureScheme begins the value of SignatureHeader.
const signatureScheme = "sha256="

// MinSecretBytes is the length of the shortest secret that is accepted: as long
// as the signature, so that it cannot be guessed more easily than that.
const MinSecretBytes = 32

// DefaultTolerance is how far a request's timestamp may be from the receiver's
// clock, either way.
const DefaultTolerance = 5 * time.Minute

// The reasons for which a request is not accepted as the platform's.
var (
	// ErrSignature means that no active secret made the signature.
	ErrSignature = errors.New("the signature was made with none of the active secrets, or for another timestamp or body")
	// ErrStale means that the signature is right and its timestamp is too far from
	// the receiver's clock.
	ErrStale = errors.New("the timestamp is too far from the receiver's clock")
)

// Sign gives the values of the headers for a body: the signature is the
// HMAC-SHA256, under the secret, of the timestamp's digits, a full stop and the
// body's bytes.
func Sign(secret []byte, at time.Time, body []byte) (timestamp, signature string) {
	timestamp = strconv.FormatInt(at.UnixMilli(), 10)
	return timestamp, signatureScheme + hex.EncodeToString(mac(secret, timestamp, body))
}

func mac(secret []byte, timestamp string, body []byte) []byte {
	h := hmac.New(sha256.New, secret)
	_, _ = h.Write([]byte(timestamp)) // A hash never fails.
	_, _ = h.Write([]byte{'.'})
	_, _ = h.Write(body)
	return h.Sum(nil)
}

// Delivery is a request that was verified.
type Delivery struct {
	// IssuedAt is when it was signed, by the sender's clock.
	IssuedAt time.Time
	// Digest identifies the signed request: SHA-256 over what was signed, in 64
	// hexadecimal digits. The same event signed again has another one.
	Digest string
}

// Verifier decides whether a request is the platform's.
type Verifier struct {
	// Tolerance is how far the timestamp may be from the clock, either way;
	// DefaultTolerance where zero.
	Tolerance time.Duration
	// Now is the clock; time.Now where nil.
	Now func() time.Time
}

// Verify accepts a request that one of the secrets signed, not too long ago. Its
// errors are ErrSignature and, for a right signature alone, ErrStale. Secrets
// shorter than MinSecretBytes accept nothing. How long it takes does not depend
// on which secret matches, nor on how much of a wrong signature is right.
func (v Verifier) Verify(secrets [][]byte, timestamp, signature string, body []byte) (Delivery, error) {
	at, ok := parseTimestamp(timestamp)
	if !ok {
		return Delivery{}, fmt.Errorf("%w: header %s must hold milliseconds since 1970 as decimal digits", ErrSignature, TimestampHeader)
	}
	given, ok := parseSignature(signature)
	if !ok {
		return Delivery{}, fmt.Errorf("%w: header %s must hold sha256= and 64 lower-case hexadecimal digits", ErrSignature, SignatureHeader)
	}
	signed := false
	for _, secret := range secrets {
		// Every secret is tried, whichever matches.
		if hmac.Equal(given, mac(secret, timestamp, body)) && len(secret) >= MinSecretBytes {
			signed = true
		}
	}
	if !signed {
		return Delivery{}, ErrSignature
	}
	if off := v.now().Sub(at); off.Abs() > v.tolerance() {
		word := "behind"
		if off < 0 {
			word = "ahead of"
		}
		return Delivery{}, fmt.Errorf("%w: it is %s %s it, and %s are tolerated; sign the request anew when it is sent, and compare the clocks",
			ErrStale, off.Abs().Round(time.Millisecond), word, v.tolerance())
	}
	return Delivery{IssuedAt: at, Digest: digest(timestamp, body)}, nil
}

// Expires is when a delivery will be too old to be accepted once more.
func (v Verifier) Expires(d Delivery) time.Time { return d.IssuedAt.Add(v.tolerance()) }

func (v Verifier) now() time.Time {
	if v.Now == nil {
		return time.Now()
	}
	return v.Now()
}

func (v Verifier) tolerance() time.Duration {
	if v.Tolerance == 0 {
		return DefaultTolerance
	}
	return v.Tolerance
}

// parseTimestamp accepts one spelling of each moment, so that a signed request
// has one form. The bound keeps later arithmetic from overflowing.
func parseTimestamp(text string) (time.Time, bool) {
	const digits = len("9999999999999") // the year 2286
	if text == "" || len(text) > digits {
		return time.Time{}, false
	}
	number, err := strconv.ParseUint(text, 10, 63)
	if err != nil || strconv.FormatUint(number, 10) != text {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(number)), true
}

func parseSignature(text string) ([]byte, bool) {
	digits, found := strings.CutPrefix(text, signatureScheme)
	if !found || len(digits) != hex.EncodedLen(sha256.Size) || digits != strings.ToLower(digits) {
		return nil, false
	}
	given, err := hex.DecodeString(digits)
	return given, err == nil
}

func digest(timestamp string, body []byte) string {
	h := sha256.New()
	_, _ = h.Write([]byte(timestamp))
	_, _ = h.Write([]byte{'.'})
	_, _ = h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}
