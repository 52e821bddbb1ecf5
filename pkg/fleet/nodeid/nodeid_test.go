package nodeid_test

import (
	"encoding/base64"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/nodeid"
)

func TestIDsComeBack(t *testing.T) {
	seen := map[string]string{}
	for _, tt := range []struct {
		id  nodeid.ID
		why string
	}{
		{nodeid.ID{Type: "Instance", Parts: []string{"alpha"}}, "one name"},
		{nodeid.ID{Type: "Cluster", Parts: []string{"alpha"}}, "another type is another object"},
		{nodeid.ID{Type: "Workload", Parts: []string{"alpha", "DEPLOYMENT", "shop", "web"}}, "several names"},
		{nodeid.ID{Type: "Workload", Parts: []string{"alpha", "DEPLOYMENT", "shop/web"}}, "names are kept apart"},
		{nodeid.ID{Type: "Resource", Parts: []string{"alpha", "", "v1", "configmaps", "", "x"}}, "an empty name is a name"},
		{nodeid.ID{Type: "Viewer"}, "a type may be enough"},
		{nodeid.ID{Type: "Resource", Parts: []string{`"],["`, "\\", "\u2028 é"}}, "names of all sorts"},
	} {
		text := tt.id.String()
		if other, taken := seen[text]; taken {
			t.Errorf("%v has the ID of %s: %s", tt.id, other, tt.why)
		}
		seen[text] = tt.id.Type
		if strings.ContainsAny(text, "+/= ") {
			t.Errorf("%q can't be put into a URL as it is", text)
		}
		if text != nodeid.New(tt.id.Type, tt.id.Parts...) {
			t.Errorf("%v: two ways to make an ID make two", tt.id)
		}
		got, err := nodeid.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.id, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.why, diff)
		}
	}
}

// sealed is an ID with anything inside and the right checksum.
func sealed(inside string) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{byte(crc32.ChecksumIEEE([]byte(inside)))}, inside...))
}

func TestWhatIsNoID(t *testing.T) {
	good := nodeid.New("Instance", "alpha")
	for _, tt := range []struct{ name, text, why string }{
		{"nothing", "", "it names nothing"},
		{"a name", "alpha", "an ID is not a name"},
		{"words", "not an ID!", "it is no base64"},
		{"a checksum alone", "AA", "it names nothing"},
		{"cut off", good[:len(good)-2], "the checksum tells"},
		{"padded", good + "=", "it is not as it was given"},
		{"mistyped", strings.Replace(good, good[5:6], string(good[5]^1), 1), "the checksum tells"},
		{"a number", sealed("1"), "no ID is made so"},
		{"an object", sealed(`{"type":"Instance"}`), "no ID is made so"},
		{"numbers", sealed(`["Instance",1]`), "no ID is made so"},
		{"an empty list", sealed(`[]`), "it has no type"},
		{"null", sealed(`null`), "it has no type"},
		{"two lists", sealed(`["Instance"]["x"]`), "no ID is made so"},
	} {
		got, err := nodeid.Parse(tt.text)
		var e *apierror.Error
		if !errors.As(err, &e) || e.Code != apierror.CodeInvalid || e.Argument != "id" {
			t.Errorf("%s: got %+v, %v; want %s of id: %s", tt.name, got, err, apierror.CodeInvalid, tt.why)
		}
	}
}

func FuzzIDsComeBack(f *testing.F) {
	f.Add("Instance", "alpha", "")
	f.Add("", "\"", "\x00")
	f.Add("Workload", "a/b", "é")
	f.Fuzz(func(t *testing.T, typ, a, b string) {
		if !utf8.ValidString(typ) || !utf8.ValidString(a) || !utf8.ValidString(b) {
			t.Skip("names are text")
		}
		got, err := nodeid.Parse(nodeid.New(typ, a, b))
		if err != nil || got.Type != typ || !slices.Equal(got.Parts, []string{a, b}) {
			t.Errorf("%q %q %q: got %+v, %v", typ, a, b, got, err)
		}
	})
}

// Whatever a client sends as an ID, it is either refused or names an object.
func FuzzParse(f *testing.F) {
	f.Add(nodeid.New("Instance", "alpha"))
	f.Add(nodeid.New("Workload", "alpha", "DEPLOYMENT", "shop", "web"))
	for _, inside := range []string{`["a"]`, ` [ "a" , "b" ] `, `["a",null]`, `[]`, "[\"\xff\"]", `["\ud800"]`} {
		f.Add(sealed(inside))
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := nodeid.Parse(text)
		if err != nil {
			if apierror.CodeOf(err) != apierror.CodeInvalid || id.Type != "" || id.Parts != nil {
				t.Errorf("%q: got %+v, %v", text, id, err)
			}
			return
		}
		again, err := nodeid.Parse(id.String())
		if err != nil || again.Type != id.Type || !slices.Equal(again.Parts, id.Parts) {
			t.Errorf("%q is %+v, and its ID names %+v, %v", text, id, again, err)
		}
	})
}
