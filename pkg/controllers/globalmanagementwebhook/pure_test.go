package globalmanagementwebhook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

const goodEvent = `{"eventID":"e-1","type":"bound","bindingID":"b-1","sequence":1,"subject":{"kind":"User","name":"alice"},"role":"editor","instance":"alpha","namespaces":["shop"]}`

func TestDecode(t *testing.T) {
	replace := func(part, by string) string { return strings.Replace(goodEvent, part, by, 1) }
	for _, c := range []struct {
		reason, body string
		field        string // that is blamed
		says         string // of the error; empty when there is none
	}{
		{"an event", goodEvent, "", ""},
		{"space around it", " \n" + goodEvent + "\t\n", "", ""},
		{"a sequence beyond what a float holds", replace(`"sequence":1`, `"sequence":9007199254740993`), "", ""},
		{"nothing", "", "", "not one JSON object"},
		{"null", "null", "eventID", "must be given"},
		{"a list", "[" + goodEvent + "]", "", "must not be an array"},
		{"two events", goodEvent + goodEvent, "", "not one JSON object"},
		{"something after it", goodEvent + "x", "", "not one JSON object"},
		{"a part of one", goodEvent[:len(goodEvent)-1], "", "not one JSON object"},
		{"an unknown name", replace(`"role"`, `"admin":true,"role"`), "admin", "no part of the protocol"},
		{"an unknown name below", replace(`"name"`, `"uid":1,"name"`), "subject.uid", "no part of the protocol"},
		{"a known name in other letters", replace(`"role"`, `"Role"`), "Role", "no part of the protocol"},
		{"a name twice: which is meant?", replace(`"role"`, `"role":"admin","role"`), "role", "twice"},
		{"a name twice, below", replace(`"name"`, `"name":"bob","name"`), "subject.name", "twice"},
		{"a name twice, once escaped", replace(`"role"`, `"r\u006fle":"admin","role"`), "role", "twice"},
		{"a number for a text", replace(`"editor"`, `1`), "role", "must not be a number"},
		{"a text for a number", replace(`"sequence":1`, `"sequence":"1"`), "sequence", "must not be a string"},
		{"a fraction", replace(`"sequence":1`, `"sequence":1.5`), "sequence", "cannot be read"},
		{"a number too large", replace(`"sequence":1`, `"sequence":9223372036854775808`), "sequence", "cannot be read"},
		{"a text for a list", replace(`["shop"]`, `"shop"`), "namespaces", "must not be a string"},
		{"a number in a list", replace(`["shop"]`, `["shop",2]`), "namespaces[1]", "must not be a number"},
		{"null for a text is nothing", replace(`"editor"`, `null`), "role", "must be"},
		{"null for namespaces is none", replace(`["shop"]`, `null`), "", ""},
		{"no namespaces at all, and said so", replace(`["shop"]`, `[]`), "namespaces", "must not be empty"},
		{"no UTF-8", replace(`alice`, "al\xffice"), "", "not one JSON object"},
		{"half a surrogate", replace(`alice`, `al\ud800ice`), "", "not one JSON object"},
		{"NUL in a name", replace(`alice`, `al\u0000ice`), "subject.name", "control characters"},
		{"comments", "/**/" + goodEvent, "", "not one JSON object"},
		{"a byte order mark", "\ufeff" + goodEvent, "", "not one JSON object"},
		{"deeper than anything is", strings.Repeat("[", 100_000), "", "must not be an array"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var event gm.Event
			err := decode([]byte(c.body), &event)
			if err == nil {
				err = event.Validate()
			}
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Fatalf("got error %v, want one that says %q", err, c.says)
			}
			if err == nil {
				return
			}
			if refused := malformed(err); refused.Field != c.field || refused.Code != gm.Malformed {
				t.Errorf("blamed %q, want %q: %s", refused.Field, c.field, refused.Message)
			}
		})
	}
	t.Run("a place in a list is told", func(t *testing.T) {
		var all gm.Resync
		err := decode([]byte(`{"asOf":1,"bindings":[{},{"subject":{"nam":"x"}}]}`), &all)
		if problem, ok := errors.AsType[*gm.FieldError](err); !ok || problem.Field != "bindings[1].subject.nam" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an answer does not repeat what was sent at length", func(t *testing.T) {
		var event gm.Event
		if err := decode([]byte(`{"`+strings.Repeat("x", 5000)+`":1}`), &event); err == nil || len(err.Error()) > 2*maxPath {
			t.Errorf("got %v", err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(goodEvent))
	f.Add([]byte(`{"asOf":1,"bindings":[]}`))
	f.Add([]byte(`{"eventID":null,"subject":{"kind":"User"}}`))
	f.Add([]byte("\xff\x00{}[]"))
	f.Fuzz(func(t *testing.T, body []byte) {
		var event gm.Event
		if err := decode(body, &event); err != nil {
			if refused := malformed(err); refused.Code != gm.Malformed || refused.Message == "" {
				t.Errorf("refused with %+v", refused)
			}
			return
		}
		if event.Validate() != nil {
			return
		}
		// What is accepted is said in one way: as JSON again, it is accepted and the same.
		if again, err := roundTrip(event); err != nil || fmt.Sprint(again) != fmt.Sprint(event) {
			t.Errorf("%+v became %+v: %v", event, again, err)
		}
	})
}

func TestMemory(t *testing.T) {
	at := time.Unix(1000, 0)
	m := &memory{lasts: time.Minute, size: 3}
	step := func(what, digest string, after time.Duration, want bool) {
		t.Helper()
		at = at.Add(after)
		if got := m.first(digest, at); got != want {
			t.Errorf("%s: first is %t", what, got)
		}
	}
	step("new", "a", 0, true)
	step("again", "a", 0, false)
	step("again at the end of its time", "a", time.Minute-1, false)
	step("another in the next generation", "b", time.Second, true)
	step("the former generation is known too", "a", 0, false)
	step("what came late in a generation lives as long as the others at least", "b", time.Minute-1, false)
	step("two generations later it is forgotten", "a", 2*time.Minute, true)
	for i := range 100 {
		step("many", fmt.Sprint(i), 0, true)
		if held := len(m.young) + len(m.former); held > 6 {
			t.Fatalf("it holds %d requests, and two generations of 3 are its size", held)
		}
	}
	step("the newest are known also when it is full", "99", 0, false)
}

// secretReader is a Secret that can change, vanish, or not be readable.
type secretReader struct {
	client.Reader
	data  map[string][]byte
	err   error
	reads int
}

func (r *secretReader) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	r.reads++
	into.(*corev1.Secret).Data = r.data
	return r.err
}

func TestKeyring(t *testing.T) {
	first, second := []byte(strings.Repeat("1", 32)), []byte(strings.Repeat("2", 32))
	at := time.Unix(1000, 0)
	from := &secretReader{data: map[string][]byte{PrimaryKey: append(first, '\n')}}
	k := &keyring{secrets: from, name: types.NamespacedName{Namespace: "kairship-system", Name: "webhook"}, now: func() time.Time { return at }}
	step := func(what string, after time.Duration, reads int, want ...string) {
		t.Helper()
		at = at.Add(after)
		before := from.reads
		got, err := k.get(t.Context())
		if fmt.Sprintf("%s", got) != fmt.Sprint(want) || (err == nil) != (len(want) > 0) {
			t.Errorf("%s: got %s and %v, want %s", what, got, err, want)
		}
		if from.reads-before != reads {
			t.Errorf("%s: %d reads, want %d", what, from.reads-before, reads)
		}
	}
	one, two := string(first), string(second)
	step("it is read, and the line break that an editor adds is none of it", 0, 1, one)
	step("it is not read at every request", secretAge-1, 0, one)
	from.data = map[string][]byte{PrimaryKey: first, SecondaryKey: second}
	step("a second one is active soon", 1, 1, one, two)
	from.data = map[string][]byte{PrimaryKey: second, SecondaryKey: []byte("  \n")}
	step("an empty one is none", secretAge, 1, two)
	from.data = map[string][]byte{PrimaryKey: second, SecondaryKey: []byte("short"), "third": first}
	step("a short one and other keys are none", secretAge, 1, two)
	from.err = errors.New("the apiserver is removed")
	step("what cannot be read is as it was", secretAge, 1, two)
	step("and is not asked for at every request", time.Second-1, 0, two)
	step("for a while", secretPatience-secretAge-time.Second, 1, two)
	step("and then not", 2*time.Second, 1)
	from.err = nil
	step("until it is back", time.Second, 1, two)
	from.err = apierrors.NewNotFound(schema.GroupResource{Resource: "secrets"}, "webhook")
	step("one that was deleted is active no more", secretAge, 1)
	from.err, from.data = nil, nil
	step("nor one that was emptied", time.Second, 1)
}

func TestInvalidNamesTheFieldOfTheProtocol(t *testing.T) {
	for path, want := range map[string]string{
		"spec.subject.name": "subject.name", "spec.instanceRef": "instance", "spec.instanceRef.name": "instance", "spec.source.bindingID": "bindingID",
		"spec.source.sequence": "sequence", "spec.namespaces[2]": "namespaces[2]", "spec.role": "role",
	} {
		err := apierrors.NewInvalid(schema.GroupKind{Kind: "InstanceRoleBinding"}, "gm-1", field.ErrorList{field.Invalid(field.NewPath(path), "x", "because")})
		if got := invalid(err); got.Field != want || got.Code != gm.Malformed || !strings.Contains(got.Message, "because") {
			t.Errorf("%s: got %+v, want field %s", path, got.Refusal, want)
		}
	}
}

func TestUnavailableHidesItsCause(t *testing.T) {
	got := unavailable(errors.New("dial tcp 10.0.0.1:6443: connection refused"))
	if strings.Contains(got.Message, "10.0.0.1") || got.retryAfter != retryAfter {
		t.Errorf("got %+v", got)
	}
	busy := apierrors.NewTooManyRequests("busy", 7)
	if got := unavailable(busy); got.retryAfter != 7*time.Second {
		t.Errorf("asks to wait %s, and the apiserver asked for 7 s", got.retryAfter)
	}
}

// TestGuideTellsEveryRefusal compares the statuses with the guide's table.
func TestGuideTellsEveryRefusal(t *testing.T) {
	page, err := os.ReadFile("../../../docs/global-management.md")
	if err != nil {
		t.Fatal(err)
	}
	reported := map[gm.Code]int{}
	for _, row := range regexp.MustCompile("(?m)^\\| (\\d{3}) \\| `([A-Z_]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		if reported[gm.Code(row[2])], err = strconv.Atoi(row[1]); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(reported, statuses); diff != "" {
		t.Errorf("statuses (-guide +webhook):\n%s", diff)
	}
}
