package cookie_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kairship-io/kairship/graph/server/cookie"
	"github.com/kairship-io/kairship/pkg/consistency"
)

// keys has one key, or none that can be read.
type keys struct{ key []byte }

func (k keys) Key(context.Context) ([]byte, error) {
	if k.key == nil {
		return nil, errors.New("the global cluster does not answer")
	}
	return k.key, nil
}

func (k keys) Find(ctx context.Context, id [consistency.KeyIDSize]byte) ([]byte, error) {
	key, err := k.Key(ctx)
	if err != nil || consistency.KeyID(key) != id {
		return nil, err
	}
	return key, nil
}

// browser keeps cookies as a browser does.
type browser map[string]string

func (b browser) request() *http.Request {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/", http.NoBody)
	for name, value := range b {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	return r
}

func (b browser) take(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	for _, c := range w.Result().Cookies() {
		if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" {
			t.Errorf("%s is %+v", c.Name, c)
		}
		if len(c.String()) > 4096 {
			t.Errorf("%s has %d bytes", c.Name, len(c.String()))
		}
		if c.MaxAge < 0 {
			delete(b, c.Name)
			continue
		}
		b[c.Name] = c.Value
	}
}

func TestJar(t *testing.T) {
	now := time.Unix(1e9, 0)
	jar := &cookie.Jar{Name: "people", SameSite: http.SameSiteStrictMode, Life: time.Hour, Keys: keys{bytes.Repeat([]byte{1}, 32)}, Now: func() time.Time { return now }}
	b := browser{}
	set := func(value string) {
		t.Helper()
		w := httptest.NewRecorder()
		if err := jar.Set(w, b.request(), value); err != nil {
			t.Fatal(err)
		}
		b.take(t, w)
	}
	get := func(jar *cookie.Jar) (value string, err error) { return value, jar.Get(b.request(), &value) }

	long := strings.Repeat("long ", 1800)
	for _, value := range []string{"short", long, "short again"} {
		set(value)
		if got, err := get(jar); got != value || err != nil {
			t.Fatalf("%d bytes came back as %d: %v", len(value), len(got), err)
		}
	}
	if len(b) != 1 {
		t.Errorf("parts of the long one are left: %d cookies", len(b))
	}
	if err := jar.Set(httptest.NewRecorder(), b.request(), strings.Repeat("x", 20000)); !errors.Is(err, cookie.ErrTooLong) {
		t.Errorf("what browsers do not keep: %v", err)
	}

	other := *jar
	other.Name = "flows"
	b["flows"] = b["people"]
	for name, wrong := range map[string]*cookie.Jar{
		"of another name": &other,
		"of another key":  {Name: "people", Life: time.Hour, Keys: keys{bytes.Repeat([]byte{2}, 32)}, Now: jar.Now},
	} {
		if got, err := get(wrong); !errors.Is(err, cookie.ErrNone) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	unread := *jar
	unread.Keys = keys{}
	if _, err := get(&unread); err == nil || errors.Is(err, cookie.ErrNone) {
		t.Errorf("a key that cannot be read is no missing cookie: %v", err)
	}
	good := b["people"]
	for _, broken := range []string{"", "x", good[:20], good + "A", "A" + good, strings.ToUpper(good)} {
		b["people"] = broken
		if got, err := get(jar); !errors.Is(err, cookie.ErrNone) {
			t.Errorf("%q: %q, %v", broken, got, err)
		}
	}
	b["people"] = good
	now = now.Add(time.Hour)
	if _, err := get(jar); !errors.Is(err, cookie.ErrNone) {
		t.Errorf("it is good for longer than its life: %v", err)
	}

	w := httptest.NewRecorder()
	jar.Remove(w, b.request())
	b.take(t, w)
	if b["people"] != "" {
		t.Error("it was not removed")
	}
	// Over TLS no other host of the domain can put its own in the place of ours.
	r := b.request()
	r.Header.Set("X-Forwarded-Proto", "https")
	w = httptest.NewRecorder()
	if err := jar.Set(w, r, "x"); err != nil {
		t.Fatal(err)
	}
	if c := w.Result().Cookies()[0]; c.Name != "__Host-people" || !c.Secure {
		t.Errorf("over TLS it is %+v", c)
	}
}
