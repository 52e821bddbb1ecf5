package writes

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/authz"
	"github.com/kairship-io/kairship/pkg/consistency"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// reader asks over connections of its own, with a token.
func reader(t testing.TB, name, token string) *gql.Client {
	t.Helper()
	c := person(t, name)
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	c.HTTP = &http.Client{Transport: transport, Timeout: 30 * time.Second}
	c.Consistency = token
	return c
}

const listConfigMaps = `query($ns: String!, $part: String!) { instance(name: "alpha") {
  resources(version: "v1", resource: "configmaps", namespace: $ns, filter: {nameContains: $part}, first: 100) {
    totalCount nodes { name resourceVersion manifest } freshness { source }
  }
} }`

type listed struct {
	Instance struct {
		Resources struct {
			TotalCount int
			Nodes      []struct {
				Name, ResourceVersion string
				Manifest              struct{ Data map[string]string }
			}
			Freshness struct{ Source string }
		}
	}
}

// Every one of 500 writes shows in the list that follows at once, from another
// connection: creations, changes and deletions, ten people's worth at a time.
func TestReadYourWrites(t *testing.T) {
	const writers, rounds = 10, 50
	namespace := namespaceIn(t)
	var shown, live atomic.Int64
	var group errgroup.Group
	for w := range writers {
		group.Go(func() error {
			alice, list := person(t, "alice"), reader(t, "alice", "")
			name := fmt.Sprintf("w%02d", w)
			for round := range rounds {
				value := fmt.Sprint(round)
				mutation, input := "applyManifests", map[string]any{"instance": "alpha", "manifests": configMap(namespace, name, value)}
				gone := round%5 == 4
				if gone {
					mutation, input = "deleteResource", map[string]any{"instance": "alpha", "version": "v1", "resource": "configmaps", "namespace": namespace, "name": name}
				}
				token, err := write1(t, alice, mutation, input)
				if err != nil {
					return err
				}
				list.Consistency = token
				got, _, err := gql.Query[listed](t.Context(), list, listConfigMaps, map[string]any{"ns": namespace, "part": name})
				if err != nil {
					return err
				}
				r := got.Instance.Resources
				if r.Freshness.Source == "LIVE" {
					live.Add(1)
				}
				switch {
				case gone && (len(r.Nodes) != 0 || r.TotalCount != 0):
					t.Errorf("writer %d, round %d: it was deleted, and is listed", w, round)
				case !gone && (len(r.Nodes) != 1 || r.TotalCount != 1 || r.Nodes[0].Manifest.Data["key"] != value):
					t.Errorf("writer %d, round %d: %+v", w, round, r)
				default:
					shown.Add(1)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if shown.Load() != writers*rounds {
		t.Errorf("%d of %d writes show", shown.Load(), writers*rounds)
	}
	t.Logf("%d of %d writes show, %d of them read from the instance", shown.Load(), writers*rounds, live.Load())
}

// write1 sends a mutation and returns its token.
func write1(t testing.TB, as *gql.Client, name string, input map[string]any) (string, error) {
	t.Helper()
	p, errs := mutate[struct{ ConsistencyToken *string }](t, as, name, input, "consistencyToken")
	if len(errs) > 0 || p.ConsistencyToken == nil {
		return "", fmt.Errorf("%s: %v, %v", name, p, errs)
	}
	return *p.ConsistencyToken, nil
}

// While the index collects nothing, what was written is read from the instance,
// and lists show it in its place.
func TestReadYourWritesWithoutCollection(t *testing.T) {
	f := fleet.Open(t)
	namespace := namespaceIn(t)
	alice := person(t, "alice")
	if _, err := write1(t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": configMap(namespace, "x-a", "1") + "---\n" + configMap(namespace, "x-c", "1")}); err != nil {
		t.Fatal(err)
	}
	if _, err := write1(t, alice, "applyManifests", map[string]any{"instance": "alpha", "manifests": configMap(namespace, "x-d", "1")}); err != nil {
		t.Fatal(err)
	}
	// Without a token nothing is laid over what the index has.
	poll.Until(t, within, "the index has all three", func(ctx context.Context) error {
		got, _, err := gql.Query[listed](ctx, alice, listConfigMaps, map[string]any{"ns": namespace, "part": "x-"})
		if n := got.Instance.Resources.TotalCount; err == nil && n != 3 {
			err = fmt.Errorf("it has %d", n)
		}
		return err
	})
	thaw := f.Freeze(t, "clustersynchro-manager")
	var tokens string
	for _, one := range []struct {
		name  string
		input map[string]any
	}{
		{"applyManifests", map[string]any{"instance": "alpha", "manifests": configMap(namespace, "x-b", "new")}},
		{"applyManifests", map[string]any{"instance": "alpha", "manifests": configMap(namespace, "x-c", "changed")}},
		{"deleteResource", map[string]any{"instance": "alpha", "version": "v1", "resource": "configmaps", "namespace": namespace, "name": "x-d"}},
	} {
		token, err := write1(t, alice, one.name, one.input)
		if err != nil {
			t.Fatal(err)
		}
		tokens += token + ","
	}
	var all sync.WaitGroup
	all.Go(func() {
		got, _, err := gql.Query[listed](t.Context(), reader(t, "alice", tokens), listConfigMaps, map[string]any{"ns": namespace, "part": "x-"})
		if err != nil {
			t.Error(err)
			return
		}
		text := ""
		for _, n := range got.Instance.Resources.Nodes {
			text += n.Name + "=" + n.Manifest.Data["key"] + " "
		}
		if text != "x-a=1 x-b=new x-c=changed " || got.Instance.Resources.TotalCount != 3 || got.Instance.Resources.Freshness.Source != "LIVE" {
			t.Errorf("got %s, %+v", text, got.Instance.Resources)
		}
	})
	all.Go(func() {
		const one = `query($ns: String!) { instance(name: "alpha") { b: resource(version: "v1", resource: "configmaps", namespace: $ns, name: "x-b") { freshness { source } }
			d: resource(version: "v1", resource: "configmaps", namespace: $ns, name: "x-d") { name } } }`
		got, _, err := gql.Query[struct {
			Instance struct {
				B *struct{ Freshness struct{ Source string } }
				D *struct{ Name string }
			}
		}](t.Context(), reader(t, "alice", tokens), one, map[string]any{"ns": namespace})
		if err != nil || got.Instance.B == nil || got.Instance.B.Freshness.Source != "LIVE" || got.Instance.D != nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
	all.Wait()
	thaw()
}

func TestBadTokens(t *testing.T) {
	namespace := namespaceIn(t)
	alices, err := write1(t, person(t, "alice"), "applyManifests", map[string]any{"instance": "alpha", "manifests": configMap(namespace, "a", "1")})
	if err != nil {
		t.Fatal(err)
	}
	const query = "{ viewer { username } }"
	for _, tt := range []struct{ who, token, why string }{
		{"alice", "nonsense", "it is none"},
		{"alice", alices + "A", "it was changed"},
		{"alice", alices[:len(alices)/2] + flipped(alices[len(alices)/2]) + alices[len(alices)/2+1:], "it was changed in the middle"},
		{"alice", alices[:len(alices)-8], "it was cut"},
		{"alice", alices + "," + alices + ",nonsense", "one of several is none"},
		{"bob", alices, "it is another's"},
		{"admin", alices, "it is another's, whatever the role"},
	} {
		result := reader(t, tt.who, tt.token).Must(t, gql.Request{Query: query})
		if len(result.Errors) != 1 || result.Errors[0].Extensions.Code != "INVALID" || result.Errors[0].Extensions.Argument != "consistencyToken" || result.HasData {
			t.Errorf("%s: %s, want INVALID", tt.why, result.Body)
		}
	}
	for _, tt := range []struct {
		extension any
		argument  string
	}{
		{alices, ""}, {[]string{alices, alices}, ""}, {"nonsense", "consistencyToken"}, {7, "extensions.consistencyToken"},
	} {
		body, err := json.Marshal(map[string]any{"query": query, "extensions": map[string]any{"consistencyToken": tt.extension}})
		if err != nil {
			t.Fatal(err)
		}
		result, err := person(t, "alice").Send(t.Context(), body, "")
		if err != nil {
			t.Fatal(err)
		}
		if tt.argument == "" && len(result.Errors) > 0 || tt.argument != "" && (len(result.Errors) != 1 || result.Errors[0].Extensions.Argument != tt.argument) {
			t.Errorf("%v: %s", tt.extension, result.Body)
		}
	}
}

// flipped is another letter of a token.
func flipped(letter byte) string {
	if letter == 'A' {
		return "B"
	}
	return "A"
}

// theKey hands out the key that all replicas of the fleet share.
type theKey []byte

// Key implements consistency.Keys.
func (k theKey) Key(context.Context) ([]byte, error) { return k, nil }

// Find implements consistency.Keys.
func (k theKey) Find(context.Context, [4]byte) ([]byte, error) { return k, nil }

// tokenOfAge is a token of a person's that was made some time ago. It is made here with
// the fleet's own key, by a clock that is behind.
func tokenOfAge(t *testing.T, name string, age time.Duration) string {
	t.Helper()
	f := fleet.Open(t)
	of := f.Config(t, "global")
	of = &rest.Config{Host: of.Host, TLSClientConfig: rest.TLSClientConfig{CAData: of.CAData, CAFile: of.CAFile}, BearerToken: f.Token(t, name)}
	clients, err := kubernetes.NewForConfig(of)
	if err != nil {
		t.Fatal(err)
	}
	who, err := clients.AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	secret, there := storedIn(t, "global", "kairship-system", "kairship-consistency-tokens", &corev1.Secret{})
	if !there {
		t.Fatal("the fleet keeps its key elsewhere")
	}
	ctx := authz.WithUser(t.Context(), authz.User{Name: who.Status.UserInfo.Username, UID: who.Status.UserInfo.UID})
	tokens := &consistency.Tokens{Keys: theKey(secret.Data[consistency.SecretKey]), Now: func() time.Time { return time.Now().Add(-age) }}
	token, err := tokens.Issue(ctx, consistency.Version{Instance: "alpha", Version: "v1", Resource: "configmaps", Kind: "ConfigMap", Namespace: "none", Name: "a", UID: "u", ResourceVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// A token ends five minutes after its write; before, it is taken.
func TestExpiredTokens(t *testing.T) {
	// The first that needs the key makes it.
	if _, err := write1(t, person(t, "alice"), "applyManifests", map[string]any{"instance": "alpha", "manifests": configMap(namespaceIn(t), "a", "1")}); err != nil {
		t.Fatal(err)
	}
	for age, want := range map[time.Duration]string{
		0: "", consistency.Lifetime - time.Minute: "", consistency.Lifetime + 2*time.Second: "has expired", 24 * time.Hour: "has expired",
	} {
		result := reader(t, "alice", tokenOfAge(t, "alice", age)).Must(t, gql.Request{Query: "{ viewer { username } }"})
		switch {
		case want == "" && len(result.Errors) > 0:
			t.Errorf("after %s: %s", age, result.Body)
		case want != "" && (len(result.Errors) != 1 || result.Errors[0].Extensions.Code != "INVALID" || result.Errors[0].Extensions.Argument != "consistencyToken" || !strings.Contains(result.Errors[0].Message, want)):
			t.Errorf("after %s: %s, want that it %s", age, result.Body, want)
		}
	}
}

// A token is as good at another replica, which has never issued one.
func TestTokensOfAnotherReplica(t *testing.T) {
	f := fleet.Open(t)
	namespace := namespaceIn(t)
	other := f.Kairship(t, f.NewGateway(t))
	for round := range 20 {
		name := fmt.Sprintf("r%02d", round)
		token, err := write1(t, person(t, "alice"), "applyManifests", map[string]any{"instance": "alpha", "manifests": configMap(namespace, name, "1")})
		if err != nil {
			t.Fatal(err)
		}
		list := reader(t, "alice", token)
		list.URL = "http://" + other.Address + "/graphql"
		got, _, err := gql.Query[listed](t.Context(), list, listConfigMaps, map[string]any{"ns": namespace, "part": name})
		if err != nil || len(got.Instance.Resources.Nodes) != 1 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
