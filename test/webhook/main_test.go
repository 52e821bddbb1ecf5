// Package webhook tests the webhook of global management on a running fleet, as
// the platform: with the client that a platform imports, and with requests that
// no platform should send.
package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
	"github.com/kairship-io/kairship/pkg/globalmanagement/client"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }

// tookEffect is how long a stored binding may take to be turned into access rules,
// or to lose them.
const tookEffect = 60 * time.Second

// scene is one test on the fleet. The bindings that it makes have IDs of their own
// and are removed in the end.
type scene struct {
	*testing.T
	fleet  *fleet.Fleet
	global ctrlclient.Client
	http   *http.Client
	// platform tells both replicas in turn.
	platform *client.Client
	prefix   string
	secret   []byte
	// signed makes timestamps that differ.
	signed time.Time
}

func begin(t *testing.T) *scene {
	t.Helper()
	f := fleet.Open(t)
	if len(f.Ended(t)) > 0 { // A manager ends when it loses the lead, as on a busy machine.
		f.Heal(t)
	}
	if len(f.GlobalManagement.URLs) != 2 {
		t.Fatalf("the fleet serves global management at %q, want two replicas; `up` with this version brings them", f.GlobalManagement.URLs)
	}
	s := &scene{T: t, fleet: f, global: f.Client(t, "global"), prefix: fmt.Sprintf("suite-%s-%d/", strings.ToLower(t.Name()), time.Now().UnixNano()), signed: time.Now()}
	ca, err := os.ReadFile(f.GlobalManagement.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	s.http = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true}, Timeout: 30 * time.Second}
	t.Cleanup(s.http.CloseIdleConnections)
	raw, err := os.ReadFile(f.GlobalManagement.SecretFile)
	if err != nil {
		t.Fatal(err)
	}
	s.secret = bytes.TrimSpace(raw)
	s.platform = s.connect(func(context.Context) ([]byte, error) { return s.secret, nil })
	t.Cleanup(s.clean)
	return s
}

// connect makes a client of both replicas. It tries for about a minute: longer
// than a new leader takes.
func (s *scene) connect(secret func(context.Context) ([]byte, error)) *client.Client {
	s.Helper()
	c, err := client.New(client.Options{URLs: s.fleet.GlobalManagement.URLs, HTTP: s.http, Secret: secret, Attempts: 40, MaxBackoff: 2 * time.Second})
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// binding is a binding of this test.
func (s *scene) binding(id string, sequence int64) gm.Binding {
	return gm.Binding{
		BindingID: s.prefix + id, Sequence: sequence, Subject: gm.Subject{Kind: gm.User, Name: "suite-" + id}, Role: gm.Viewer, Instance: "alpha",
	}
}

func (s *scene) stored(id string) *v1alpha1.InstanceRoleBinding {
	s.Helper()
	object := &v1alpha1.InstanceRoleBinding{}
	if err := s.global.Get(s.Context(), ctrlclient.ObjectKey{Name: v1alpha1.BindingName(s.prefix + id)}, object); err != nil {
		s.Fatal(err)
	}
	return object
}

// all are all bindings that came from a platform.
func (s *scene) all(ctx context.Context) []v1alpha1.InstanceRoleBinding {
	s.Helper()
	list := &v1alpha1.InstanceRoleBindingList{}
	if err := s.global.List(ctx, list); err != nil {
		s.Fatal(err)
	}
	var found []v1alpha1.InstanceRoleBinding
	for i := range list.Items {
		if list.Items[i].Spec.Source != nil {
			found = append(found, list.Items[i])
		}
	}
	return found
}

// picture is what is stored: it differs when a binding comes, goes or changes,
// and not when a controller writes a status.
func (s *scene) picture() string {
	s.Helper()
	var lines strings.Builder
	for _, b := range s.all(s.Context()) {
		fmt.Fprintln(&lines, b.Name, b.UID, b.Generation, b.Spec.Source.DeliveryDigest)
	}
	return lines.String()
}

// clean removes the bindings of this test, and waits until nothing is left of them.
func (s *scene) clean() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.Context()), 2*time.Minute)
	defer cancel()
	var mine []v1alpha1.InstanceRoleBinding
	for _, b := range s.all(ctx) {
		if strings.HasPrefix(b.Spec.Source.BindingID, s.prefix) {
			mine = append(mine, b)
		}
	}
	for i := range mine {
		if err := s.global.Delete(ctx, &mine[i]); ctrlclient.IgnoreNotFound(err) != nil {
			s.Error(err)
		}
	}
	for i := range mine {
		err := poll.Try(ctx, time.Minute, func(ctx context.Context) error {
			b := &mine[i]
			switch err := s.global.Get(ctx, ctrlclient.ObjectKeyFromObject(b), b); {
			case apierrors.IsNotFound(err):
				return nil
			case err != nil:
				return err
			}
			return fmt.Errorf("%s is there: finalizers %q, conditions %+v", b.Name, b.Finalizers, b.Status.Conditions)
		})
		if err != nil {
			s.Errorf("a binding of this test stays: %v", err)
		}
	}
}

// post is a request that a test makes itself.
type post struct{ path, body, timestamp, signature string }

// sign makes a request with a right signature and a timestamp of its own.
func (s *scene) sign(path string, body any) post {
	s.Helper()
	text, ok := body.(string)
	if !ok {
		raw, err := json.Marshal(body)
		if err != nil {
			s.Fatal(err)
		}
		text = string(raw)
	}
	s.signed = s.signed.Add(-time.Millisecond)
	p := post{path: path, body: text}
	p.timestamp, p.signature = gm.Sign(s.secret, s.signed, []byte(text))
	return p
}

// send sends a request to one replica.
func (s *scene) send(replica int, p post) (status int, refusal gm.Refusal) {
	s.Helper()
	// Not the test's context: it has ended when what was changed is put back.
	r, err := http.NewRequestWithContext(context.WithoutCancel(s.Context()), http.MethodPost, s.fleet.GlobalManagement.URLs[replica]+p.path, strings.NewReader(p.body))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set(gm.TimestampHeader, p.timestamp)
	r.Header.Set(gm.SignatureHeader, p.signature)
	response, err := s.http.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	if err := json.Unmarshal(answer, &refusal); err != nil {
		s.Fatalf("status %d is answered with %q", response.StatusCode, answer)
	}
	return response.StatusCode, refusal
}
