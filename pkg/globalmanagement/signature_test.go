package globalmanagement

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"
)

var (
	secret = []byte("0123456789abcdef0123456789abcdef")
	other  = []byte("fedcba9876543210fedcba9876543210")
	signed = time.UnixMilli(1767225600123)
	body   = []byte(`{"eventID":"e-1"}`)
)

func TestSign(t *testing.T) {
	timestamp, signature := Sign(secret, signed, body)
	// printf '1767225600123.{"eventID":"e-1"}' | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef
	const want = "sha256=a19df7941051cf2ff78c0dc20f5cf8cf0534edb960ed52785c929c4a7690c822"
	if timestamp != "1767225600123" || signature != want {
		t.Errorf("got %s and %s, want what openssl says", timestamp, signature)
	}
}

func TestVerify(t *testing.T) {
	timestamp, signature := Sign(secret, signed, body)
	_, byOther := Sign(other, signed, body)
	_, byShort := Sign(secret[:31], signed, body)
	_, byEmpty := Sign(nil, signed, body)
	// A signature over a timestamp that is written in another way.
	raw := func(timestamp string) string {
		h := hmac.New(sha256.New, secret)
		h.Write([]byte(timestamp + "." + string(body)))
		return "sha256=" + hex.EncodeToString(h.Sum(nil))
	}
	one, two := [][]byte{secret}, [][]byte{other, secret}
	for _, c := range []struct {
		reason               string
		secrets              [][]byte
		timestamp, signature string
		body                 string
		now                  time.Duration // after it was signed
		want                 error
	}{
		{reason: "what Sign made is right", secrets: one, timestamp: timestamp, signature: signature, body: string(body)},
		{reason: "either of two active secrets may have signed", secrets: two, timestamp: timestamp, signature: signature, body: string(body)},
		{reason: "the other of them too", secrets: two, timestamp: timestamp, signature: byOther, body: string(body)},
		{reason: "a secret that was taken away signs no more", secrets: one, timestamp: timestamp, signature: byOther, body: string(body), want: ErrSignature},
		{reason: "without a secret nothing is right", timestamp: timestamp, signature: signature, body: string(body), want: ErrSignature},
		{reason: "an empty secret is none, though any client can sign with it", secrets: [][]byte{nil, {}}, timestamp: timestamp, signature: byEmpty, body: string(body), want: ErrSignature},
		{reason: "a short secret is none", secrets: [][]byte{secret[:31]}, timestamp: timestamp, signature: byShort, body: string(body), want: ErrSignature},
		{reason: "another body", secrets: one, timestamp: timestamp, signature: signature, body: string(body) + " ", want: ErrSignature},
		{reason: "another timestamp", secrets: one, timestamp: "1767225600124", signature: signature, body: string(body), want: ErrSignature},
		{reason: "a part of the body moved into the timestamp", secrets: one, timestamp: timestamp + ".", signature: signature, body: string(body), want: ErrSignature},
		{reason: "a timestamp with a sign", secrets: one, timestamp: "+" + timestamp, signature: raw("+" + timestamp), body: string(body), want: ErrSignature},
		{reason: "a timestamp with leading zeros", secrets: one, timestamp: "0" + timestamp, signature: raw("0" + timestamp), body: string(body), want: ErrSignature},
		{reason: "a timestamp that would overflow", secrets: one, timestamp: "9223372036854775807", signature: raw("9223372036854775807"), body: string(body), want: ErrSignature},
		{reason: "no timestamp", secrets: one, signature: signature, body: string(body), want: ErrSignature},
		{reason: "no signature", secrets: one, timestamp: timestamp, body: string(body), want: ErrSignature},
		{reason: "a signature without its scheme", secrets: one, timestamp: timestamp, signature: strings.TrimPrefix(signature, "sha256="), body: string(body), want: ErrSignature},
		{reason: "another scheme", secrets: one, timestamp: timestamp, signature: strings.Replace(signature, "sha256", "sha512", 1), body: string(body), want: ErrSignature},
		{reason: "capital digits: a signed request has one form", secrets: one, timestamp: timestamp, signature: "sha256=" + strings.ToUpper(signature[7:]), body: string(body), want: ErrSignature},
		{reason: "a part of the signature", secrets: one, timestamp: timestamp, signature: signature[:len(signature)-2], body: string(body), want: ErrSignature},
		{reason: "more than the signature", secrets: one, timestamp: timestamp, signature: signature + "00", body: string(body), want: ErrSignature},
		{reason: "as old as is tolerated", secrets: one, timestamp: timestamp, signature: signature, body: string(body), now: DefaultTolerance},
		{reason: "older", secrets: one, timestamp: timestamp, signature: signature, body: string(body), now: DefaultTolerance + time.Millisecond, want: ErrStale},
		{reason: "as far ahead as is tolerated", secrets: one, timestamp: timestamp, signature: signature, body: string(body), now: -DefaultTolerance},
		{reason: "further ahead", secrets: one, timestamp: timestamp, signature: signature, body: string(body), now: -DefaultTolerance - time.Millisecond, want: ErrStale},
		{reason: "old and not ours: a client that cannot sign learns nothing of clocks", secrets: one, timestamp: timestamp, signature: byOther, body: string(body), now: time.Hour, want: ErrSignature},
	} {
		t.Run(c.reason, func(t *testing.T) {
			v := Verifier{Now: func() time.Time { return signed.Add(c.now) }}
			got, err := v.Verify(c.secrets, c.timestamp, c.signature, []byte(c.body))
			if !errors.Is(err, c.want) {
				t.Fatalf("got error %v, want %v", err, c.want)
			}
			if err == nil && (!got.IssuedAt.Equal(signed) || len(got.Digest) != 64) {
				t.Errorf("got %+v", got)
			}
			if err != nil && got != (Delivery{}) {
				t.Errorf("what is refused is described: %+v", got)
			}
		})
	}
}

func TestDigestsTellSignedRequestsApart(t *testing.T) {
	v := Verifier{Now: func() time.Time { return signed }}
	seen := map[string]string{}
	for name, c := range map[string]struct {
		at   time.Time
		body string
	}{
		"the request": {signed, "a"}, "a moment later": {signed.Add(time.Millisecond), "a"}, "another body": {signed, "b"},
	} {
		timestamp, signature := Sign(secret, c.at, []byte(c.body))
		d, err := v.Verify([][]byte{secret}, timestamp, signature, []byte(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if before, found := seen[d.Digest]; found {
			t.Errorf("%s and %s have the same digest", name, before)
		}
		seen[d.Digest] = name
		if want := c.at.Add(DefaultTolerance); !v.Expires(d).Equal(want) {
			t.Errorf("%s expires at %s, want %s", name, v.Expires(d), want)
		}
	}
}

func TestTheErrorTellsTheDifferenceOfClocks(t *testing.T) {
	timestamp, signature := Sign(secret, signed, body)
	for now, want := range map[time.Duration]string{time.Hour: "1h0m0s behind", -time.Hour: "1h0m0s ahead of"} {
		v := Verifier{Tolerance: time.Minute, Now: func() time.Time { return signed.Add(now) }}
		if _, err := v.Verify([][]byte{secret}, timestamp, signature, body); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
}

// FuzzVerify looks for a signature that is accepted without the secret, and for
// one of the secret's that is not accepted.
func FuzzVerify(f *testing.F) {
	timestamp, signature := Sign(secret, signed, body)
	f.Add(timestamp, signature, body)
	f.Add("", "", []byte(nil))
	f.Add("-1", "sha256=", []byte("."))
	f.Add("9223372036854775807", "sha256="+strings.Repeat("0", 64), []byte("{}"))
	f.Add(timestamp, strings.ToUpper(signature), body)
	f.Add(timestamp+"\x00", signature+" ", body)
	f.Fuzz(func(t *testing.T, timestamp, signature string, body []byte) {
		v := Verifier{Now: func() time.Time { return signed }}
		_, err := v.Verify([][]byte{other, secret}, timestamp, signature, body)
		signedByUs := false
		if at, ok := parseTimestamp(timestamp); ok {
			_, first := Sign(secret, at, body)
			_, second := Sign(other, at, body)
			signedByUs = signature == first || signature == second
		}
		switch {
		case err == nil && !signedByUs:
			t.Errorf("accepted, and not signed")
		case errors.Is(err, ErrSignature) && signedByUs:
			t.Errorf("refused, and was signed: %v", err)
		case err != nil && !errors.Is(err, ErrSignature) && !errors.Is(err, ErrStale):
			t.Errorf("an error of another kind: %v", err)
		}
	})
}
