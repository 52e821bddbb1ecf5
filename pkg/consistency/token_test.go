package consistency

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/authz"
)

func as(t testing.TB, name string) context.Context {
	t.Helper()
	return authz.WithUser(t.Context(), authz.User{Name: name})
}

// replicas are the tokens of some replicas of one Kairship, and their clock.
func replicas(t testing.TB, n int, now *time.Time) []*Tokens {
	t.Helper()
	global := fake.NewClientset()
	clock := func() time.Time { return *now }
	all := make([]*Tokens, n)
	for i := range all {
		all[i] = &Tokens{Now: clock, Keys: &SecretKeys{Secrets: global.CoreV1(), Namespace: "kairship-system", Name: "key", Now: clock}}
	}
	return all
}

var written = []Version{
	{Instance: "alpha", Group: "apps", Version: "v1", Resource: "deployments", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "1", ResourceVersion: "7"},
	{Instance: "alpha", Version: "v1", Resource: "configmaps", Kind: "ConfigMap", Namespace: "shop", Name: "settings", UID: "2", Deleted: true},
}

// A token comes back on another replica, for its user, for a while.
func TestTokens(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := replicas(t, 3, &now)
	token, err := r[0].Issue(as(t, "alice"), written...)
	if err != nil {
		t.Fatal(err)
	}
	if raw, _ := base64.RawURLEncoding.DecodeString(token); strings.Contains(string(raw), "web") || strings.Contains(string(raw), "alice") {
		t.Error("a token shows what was written")
	}
	got, err := r[1].Read(as(t, "alice"), token)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(written, got); diff != "" {
		t.Error(diff)
	}
	for _, tt := range []struct {
		name, user, token string
		after             time.Duration
		why               string
	}{
		{"another's", "bob", token, 0, "what alice wrote is none of bob's business"},
		{"expired", "alice", token, Lifetime + time.Second, "the index is there by then"},
		{"changed", "alice", token[:len(token)-3] + "AAA", 0, "only Kairship makes one"},
		{"cut", "alice", token[:20], 0, ""},
		{"empty", "alice", "", 0, ""},
		{"text", "alice", "no token!", 0, ""},
		{"long", "alice", strings.Repeat("A", maxToken+1), 0, "it costs nothing to refuse"},
		{"another key", "alice", "AQAAAAA" + token[7:], 0, "keys are told apart before anything is decrypted"},
	} {
		later := now.Add(tt.after)
		r[1].Now = func() time.Time { return later }
		_, err := r[1].Read(as(t, tt.user), tt.token)
		if !apierror.Is(err, apierror.CodeInvalid) || !strings.HasPrefix(err.Error(), tokenArgument+": ") {
			t.Errorf("%s: %v, want INVALID that names %s: %s", tt.name, err, tokenArgument, tt.why)
		}
	}
}

// A subscription knows what its tokens name, and what it reads from the index is held to
// none of it. What has expired asks for nothing; what is another's is refused.
func TestTokensOfSubscriptions(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	r := replicas(t, 1, &now)[0]
	issue := func(versions ...Version) string {
		token, err := r.Issue(as(t, "alice"), versions...)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	old := issue(written...)
	now = now.Add(Lifetime + time.Second)
	later := written[0]
	later.ResourceVersion = "9"
	first, second := issue(written...), issue(later)
	for _, tt := range []struct {
		name, user string
		header     []string
		extension  any
		want       []Version
		refused    bool
	}{
		{name: "none", user: "alice"},
		{name: "one", user: "alice", header: []string{first}, want: written},
		{name: "in the body", user: "alice", extension: first, want: written},
		{name: "the last version of each", user: "alice", header: []string{first}, extension: []any{second}, want: []Version{later, written[1]}},
		{name: "expired", user: "alice", header: []string{old}},
		{name: "one of two has expired", user: "alice", header: []string{old + "," + second}, want: []Version{later}},
		{name: "another's", user: "bob", header: []string{first}, refused: true},
		{name: "another's that has expired", user: "bob", header: []string{old}, refused: true},
		{name: "one of two is none", user: "alice", header: []string{first + ",nonsense"}, refused: true},
	} {
		ctx, err := r.BeginStream(as(t, tt.user), tt.header, tt.extension)
		if refused := apierror.Is(err, apierror.CodeInvalid); refused != tt.refused || (err != nil) != tt.refused {
			t.Errorf("%s: %v, refused is %v", tt.name, err, tt.refused)
		}
		if d := cmp.Diff(tt.want, Written(ctx)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
		if readingFrom(ctx) != nil {
			t.Errorf("%s: what it reads from the index would be held to its beginning", tt.name)
		}
	}
}

// A Secret that was deleted costs the tokens that are out, and is made again once.
func TestKeysAreMadeAgain(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	global := fake.NewClientset()
	make1 := func() *SecretKeys {
		return &SecretKeys{Secrets: global.CoreV1(), Namespace: "kairship-system", Name: "key", Now: func() time.Time { return now }}
	}
	a, b := make1(), make1()
	first, err := a.Key(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if second, err := b.Key(t.Context()); err != nil || !bytes.Equal(second, first) {
		t.Fatalf("two replicas have two keys (%v)", err)
	}
	if err := global.Tracker().Delete(secretsResource, "kairship-system", "key"); err != nil {
		t.Fatal(err)
	}
	c := make1()
	fresh, err := c.Key(t.Context())
	if err != nil || bytes.Equal(fresh, first) {
		t.Fatalf("the key was not made again: %v", err)
	}
	now = now.Add(lookAgainAfter)
	if found, err := a.Find(t.Context(), keyID(fresh)); err != nil || !bytes.Equal(found, fresh) {
		t.Errorf("a replica does not find the key that another made: %v", err)
	}
	reads := len(global.Actions())
	for range 100 {
		if found, err := a.Find(t.Context(), [keyIDSize]byte{1, 2, 3, 4}); err != nil || found != nil {
			t.Fatalf("found %v, %v", found, err)
		}
	}
	if more := len(global.Actions()) - reads; more > 1 {
		t.Errorf("100 made-up tokens cost %d requests", more)
	}
}

// A key that is replaced costs nothing that is out, whichever replica hears of it first.
func TestKeysAreReplaced(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	var clock sync.Mutex
	global := fake.NewClientset()
	replica := func() *Tokens {
		read := func() time.Time {
			clock.Lock()
			defer clock.Unlock()
			return now
		}
		return &Tokens{Now: read, Keys: &SecretKeys{Secrets: global.CoreV1(), Namespace: "kairship-system", Name: "key", Now: read}}
	}
	alice := as(t, "alice")
	slow, quick := replica(), replica()
	issue := func(r *Tokens) string {
		t.Helper()
		token, err := r.Issue(alice, written...)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	reads := func(r *Tokens, token string) error {
		_, err := r.Read(alice, token)
		return err
	}
	before := issue(slow)
	if err := reads(quick, before); err != nil {
		t.Fatal(err)
	}
	replaced := func() []byte {
		t.Helper()
		secret, err := global.CoreV1().Secrets("kairship-system").Get(t.Context(), "key", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		fresh := bytes.Repeat([]byte{byte(len(global.Actions()))}, KeySize)
		secret.Data[SecretPreviousKey], secret.Data[SecretKey] = secret.Data[SecretKey], fresh
		if _, err := global.CoreV1().Secrets("kairship-system").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		return fresh
	}

	fresh := replaced()
	restarted := replica()
	after := issue(restarted)
	for name, r := range map[string]*Tokens{"that was there": slow, "that began later": restarted} {
		for kind, token := range map[string]string{"old": before, "new": after} {
			if err := reads(r, token); err != nil {
				t.Errorf("a replica %s does not take a token of the %s key: %v", name, kind, err)
			}
		}
	}
	// One that meets no token of the new key hears of it too.
	clock.Lock()
	now = now.Add(freshFor)
	clock.Unlock()
	poll.Until(t, time.Minute, "the new key is sealed with", func(context.Context) error {
		key, err := quick.Keys.Key(t.Context())
		if err != nil {
			return poll.Stop(err)
		}
		if !bytes.Equal(key, fresh) {
			return errors.New("it is the key before")
		}
		return nil
	})
	if err := reads(quick, before); err != nil {
		t.Errorf("a token of the key before is no longer taken: %v", err)
	}

	replaced()
	if err := reads(replica(), before); !apierror.Is(err, apierror.CodeInvalid) {
		t.Errorf("the key before the one before is still good: %v", err)
	}
}

// While the Secret can't be read, what is known is good.
func TestKeysOutliveAnOutage(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	global := fake.NewClientset()
	var away atomic.Bool
	var refused atomic.Int64
	global.PrependReactor("get", "secrets", func(k8stesting.Action) (bool, runtime.Object, error) {
		if away.Load() {
			refused.Add(1)
		}
		return away.Load(), nil, errors.New("away")
	})
	keys := &SecretKeys{Secrets: global.CoreV1(), Namespace: "kairship-system", Name: "key", Now: func() time.Time { return now }}
	key, err := keys.Key(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	away.Store(true)
	now = now.Add(2 * freshFor)
	poll.Until(t, time.Minute, "the Secret is looked at again", func(context.Context) error {
		if again, err := keys.Key(t.Context()); err != nil || !bytes.Equal(again, key) {
			return poll.Stop(fmt.Errorf("the key is no longer known: %w", err))
		}
		if refused.Load() == 0 {
			return errors.New("it was not")
		}
		return nil
	})
	if found, err := keys.Find(t.Context(), keyID(key)); err != nil || !bytes.Equal(found, key) {
		t.Errorf("the key is no longer found: %v", err)
	}
	if found, err := keys.Find(t.Context(), [keyIDSize]byte{1}); err == nil {
		t.Errorf("found %v, while it cannot be known: it may be a key that was put there", found)
	}
}

func TestNewestVersions(t *testing.T) {
	v := func(uid, rv string, deleted bool) Version {
		return Version{Instance: "a", Resource: "r", Name: "n", UID: uid, ResourceVersion: rv, Deleted: deleted}
	}
	for _, tt := range []struct {
		in   []Version
		want Version
		why  string
	}{
		{[]Version{v("1", "9", false), v("1", "10", false)}, v("1", "10", false), "numbers, not text"},
		{[]Version{v("1", "10", false), v("1", "9", false)}, v("1", "10", false), "whatever their order"},
		{[]Version{v("1", "10", false), v("1", "", true)}, v("1", "", true), "a deletion is the last"},
		{[]Version{v("1", "", true), v("1", "10", false)}, v("1", "", true), "whatever their order"},
		{[]Version{v("1", "", true), v("2", "12", false)}, v("2", "12", false), "it was made anew"},
	} {
		if got := newest(tt.in); len(got) != 1 || got[0] != tt.want {
			t.Errorf("%v: got %v, want %v: %s", tt.in, got, tt.want, tt.why)
		}
	}
}

func FuzzRead(f *testing.F) {
	now := time.Unix(1_800_000_000, 0)
	tokens := replicas(f, 1, &now)[0]
	valid, err := tokens.Issue(as(f, "alice"), written...)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{valid, valid[1:], valid + "A", "", "AQ", "AQAAAAA", strings.ToLower(valid)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := tokens.Read(as(t, "alice"), text)
		if (err == nil) != (text == valid) {
			t.Fatalf("%q: %v, %v", text, got, err)
		}
		if err != nil && !apierror.Is(err, apierror.CodeInvalid) {
			t.Errorf("%q: %v, want INVALID", text, err)
		}
	})
}

// The ID of an operation is its user's, and no consistency token.
func TestOperations(t *testing.T) {
	type operation struct{ Kind string }
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	tokens := replicas(t, 1, &now)[0]
	alice, bob := as(t, "alice"), as(t, "bob")
	id, err := SealOperation(alice, tokens, operation{"JOIN_CLUSTER"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := tokens.Issue(alice, Version{Instance: "alpha"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		ctx   context.Context
		id    string
		after time.Duration
		want  apierror.Code
	}{
		{"its user reads it", alice, id, 0, ""},
		{"it lasts", alice, id, operationLifetime, ""},
		{"not for ever", alice, id, operationLifetime + time.Second, apierror.CodeNotFound},
		{"another user's is none", bob, id, 0, apierror.CodeNotFound},
		{"a changed one is none", alice, id[:len(id)-2] + "AA", 0, apierror.CodeNotFound},
		{"text is none", alice, "none-such", 0, apierror.CodeNotFound},
		{"nothing is none", alice, "", 0, apierror.CodeNotFound},
		{"a consistency token is none", alice, token, 0, apierror.CodeNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			later := &Tokens{Keys: tokens.Keys, Now: func() time.Time { return now.Add(tt.after) }}
			got, err := OpenOperation[operation](tt.ctx, later, tt.id)
			if tt.want == "" && (err != nil || got.Kind != "JOIN_CLUSTER") {
				t.Errorf("got %v, %v", got, err)
			}
			if tt.want != "" && !apierror.Is(err, tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
	if _, err := tokens.Read(alice, id); !apierror.Is(err, apierror.CodeInvalid) {
		t.Errorf("the ID of an operation is a consistency token: %v", err)
	}
}
