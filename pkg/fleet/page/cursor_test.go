package page_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/page"
	"github.com/kairship-io/kairship/pkg/index"
)

var (
	now  = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	list = page.IdentityOf("Workload", []string{"alpha"})
)

func TestCursorsComeBack(t *testing.T) {
	for _, tt := range []struct {
		name     string
		position index.Position
	}{
		{"nothing", index.Position{}},
		{"an object", index.Position{CreatedAt: now.Add(-time.Hour), Cluster: "k-alpha", Namespace: "shop", Name: "web", Kind: "Deployment"}},
		{"without namespace", index.Position{CreatedAt: now, Cluster: "k-alpha", Name: "shop", Kind: "Namespace"}},
		{"names of all sorts", index.Position{Name: `system:"node"/é</x>`, Cluster: "k-\u2028"}},
	} {
		text := page.Cursor(list, tt.position, now)
		if strings.ContainsAny(text, "+/= ") {
			t.Errorf("%s: %q can't be put into a URL as it is", tt.name, text)
		}
		got, err := page.Position[index.Position](list, text, now.Add(time.Minute))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(&tt.position, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// altered is a cursor whose inside a test has changed.
func altered(t *testing.T, change func(map[string]any)) string {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(page.Cursor(list, index.Position{Name: "web"}, now))
	if err != nil {
		t.Fatal(err)
	}
	inside := map[string]any{}
	if err := json.Unmarshal(raw, &inside); err != nil {
		t.Fatal(err)
	}
	change(inside)
	if raw, err = json.Marshal(inside); err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

func TestCursorsThatAreRefused(t *testing.T) {
	good := page.Cursor(list, index.Position{Name: "web"}, now)
	encode := base64.RawURLEncoding.EncodeToString
	for _, tt := range []struct {
		name, text string
		at         time.Duration
		want       apierror.Code
		message    string
		why        string
	}{
		{"nothing", "", 0, apierror.CodeInvalid, "not a cursor", "it is no base64 of anything"},
		{"words", "the next page, please", 0, apierror.CodeInvalid, "not a cursor", "it is no base64"},
		{"base64 of words", encode([]byte("the next page")), 0, apierror.CodeInvalid, "not a cursor", "it is no JSON"},
		{"JSON of something else", encode([]byte(`{"name":"web"}`)), 0, apierror.CodeInvalid, "not a cursor", "it has no version"},
		{"a list", encode([]byte(`[1]`)), 0, apierror.CodeInvalid, "not a cursor", "it is no cursor's JSON"},
		{"null", encode([]byte(`null`)), 0, apierror.CodeInvalid, "not a cursor", "it is nothing"},
		{"an offset of another API", encode([]byte("50")), 0, apierror.CodeInvalid, "not a cursor", "it is a number"},
		{"cut off", good[:len(good)-4], 0, apierror.CodeInvalid, "not a cursor", "half a cursor is none"},
		{"padded", good + "==", 0, apierror.CodeInvalid, "not a cursor", "it is not as it was given"},
		{"a position of another kind", altered(t, func(c map[string]any) { c["p"] = "web" }), 0, apierror.CodeInvalid, "not a cursor", "no list has such positions"},
		{"another list", page.Cursor(page.IdentityOf("Workload", []string{"beta"}), index.Position{}, now), 0, apierror.CodeStaleCursor, "from another list", "a place in one list is no place in another"},
		{"no list", altered(t, func(c map[string]any) { delete(c, "l") }), 0, apierror.CodeStaleCursor, "from another list", "it belongs to none"},
		{"another version", altered(t, func(c map[string]any) { c["v"] = 2 }), 0, apierror.CodeStaleCursor, "another version", "its format may differ"},
		{"a version that never was", altered(t, func(c map[string]any) { c["v"] = -1 }), 0, apierror.CodeStaleCursor, "another version", "its format may differ"},
		{"a day and a second old", good, 24*time.Hour + time.Second, apierror.CodeStaleCursor, "has expired", "cursors live a day"},
		{"from tomorrow", good, -time.Hour - time.Second, apierror.CodeStaleCursor, "has expired", "clocks differ by less than an hour"},
		{"from the year 300000000000", altered(t, func(c map[string]any) { c["t"] = int64(1) << 62 }), 0, apierror.CodeStaleCursor, "has expired", "times of any size are times"},
	} {
		_, err := page.Position[index.Position](list, tt.text, now.Add(tt.at))
		var e *apierror.Error
		if !errors.As(err, &e) || e.Code != tt.want || !strings.Contains(e.Message, tt.message) || e.Argument != "after" {
			t.Errorf("%s: got %v (%s), want %s %q: %s", tt.name, err, apierror.CodeOf(err), tt.want, tt.message, tt.why)
		}
	}
	for _, at := range []time.Duration{24 * time.Hour, -time.Hour, 0} {
		if _, err := page.Position[index.Position](list, good, now.Add(at)); err != nil {
			t.Errorf("%s later: %v", at, err)
		}
	}
}

// Lists have different identities if their arguments select different objects or another order.
func TestIdentities(t *testing.T) {
	text := "x"
	seen := map[page.Identity]string{}
	for name, parts := range map[string][]any{
		"nothing":             nil,
		"a noun":              {"Workload"},
		"another noun":        {"Resource"},
		"two instances":       {"Workload", []string{"alpha", "beta"}},
		"one instance":        {"Workload", []string{"alpha"}},
		"no filter":           {"Workload", (*string)(nil)},
		"a filter":            {"Workload", &text},
		"a filter of nothing": {"Workload", []string{}},
		"the parts' order":    {[]string{"alpha"}, "Workload"},
		"the order":           {"Workload", index.Order{Field: index.OrderByName}},
		"the order backwards": {"Workload", index.Order{Field: index.OrderByName, Desc: true}},
	} {
		identity := page.IdentityOf(parts...)
		if other, taken := seen[identity]; taken {
			t.Errorf("%q and %q are the same list", name, other)
		}
		seen[identity] = name
		if identity != page.IdentityOf(parts...) {
			t.Errorf("%q is not the same list twice", name)
		}
	}
}

// Whatever a client sends as a cursor, it is either refused for a reason or a place.
func FuzzPosition(f *testing.F) {
	f.Add(page.Cursor(list, index.Position{Name: "web"}, now))
	f.Add(page.Cursor(list, index.Position{CreatedAt: now, Cluster: "k", Namespace: "n", Name: "x", Kind: "Y"}, now.Add(-30*time.Hour)))
	for _, inside := range []string{`{"v":1}`, `{"v":1,"l":"` + base64.StdEncoding.EncodeToString(list[:8]) + `","t":1777636800,"p":{"Name":"a"}}`, `{"v":1e9}`, `[]`, `{"v":1,"p":{"CreatedAt":"0000-00-00"}}`, ""} {
		f.Add(base64.RawURLEncoding.EncodeToString([]byte(inside)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := page.Position[index.Position](list, text, now)
		if err != nil {
			var e *apierror.Error
			if !errors.As(err, &e) || e.Argument != "after" || (e.Code != apierror.CodeInvalid && e.Code != apierror.CodeStaleCursor) || got != nil {
				t.Errorf("%q: got %v, %v", text, got, err)
			}
			return
		}
		again, err := page.Position[index.Position](list, page.Cursor(list, *got, now), now)
		if err != nil {
			t.Fatalf("%q is the place %+v, whose cursor is refused: %v", text, got, err)
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	})
}
