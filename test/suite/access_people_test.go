package suite

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// revoked is how long a role that was taken away may still work.
const revoked = 5 * time.Second

// person is a user whom the suite makes: a service account of the global
// cluster, with the rules that a test gives it.
type person struct {
	*gql.Client
	// user is the name by which the global cluster knows them.
	user    string
	binding *rbacv1.ClusterRoleBinding
}

// rules are RBAC on the virtual resources of Kairship: each text names verbs,
// resources and names, for example "get list: instances instances/resources: alpha".
// Without names it is about every instance.
func rules(texts ...string) []rbacv1.PolicyRule {
	var all []rbacv1.PolicyRule
	for _, text := range texts {
		parts := strings.SplitN(text, ": ", 3)
		rule := rbacv1.PolicyRule{APIGroups: []string{"kairship.io"}, Verbs: strings.Fields(parts[0]), Resources: strings.Fields(parts[1])}
		if len(parts) == 3 {
			rule.ResourceNames = strings.Fields(parts[2])
		}
		all = append(all, rule)
	}
	return all
}

// viewerOf are the rules of a viewer.
func viewerOf(instance string) []rbacv1.PolicyRule {
	return rules("get list watch: instances instances/resources: " + instance)
}

// viewerIn are the rules of a viewer in one namespace.
func viewerIn(instance, namespace string) []rbacv1.PolicyRule {
	return rules("get list watch: instances: "+instance, "get list watch: instances/namespaces: "+instance+":"+namespace)
}

// newPerson makes a user who has some rules, and waits until Kairship knows it
// if they have any.
func newPerson(t *testing.T, on *target, may []rbacv1.PolicyRule) *person {
	t.Helper()
	token, account := newServiceAccount(t, on, "global")
	p := &person{Client: gql.New(on.url, token), user: "system:serviceaccount:" + account.Namespace + ":" + account.Name}
	if len(may) == 0 {
		return p
	}
	global := on.fleet.Client(t, "global")
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: account.Name}, Rules: may}
	p.binding = &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: account.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: p.user}},
	}
	for _, o := range []client.Object{role, p.binding} {
		if err := global.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = client.IgnoreNotFound(global.Delete(context.Background(), o)) })
	}
	poll.Until(t, soon, "the person sees something", func(ctx context.Context) error {
		r, err := p.Do(ctx, gql.Request{Query: anyQuery})
		if err == nil && !sees(r) {
			err = fmt.Errorf("HTTP %d: %s", r.Status, r.Body)
		}
		return err
	})
	return p
}

// resigned is a token of the global cluster with other claims, signed with the
// cluster's own key: nothing but the claims can be wrong with it.
func resigned(t testing.TB, on *target, token string, claims map[string]any) string {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatal("the token is no JSON web token")
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]any{}
	if err := json.Unmarshal(body, &all); err != nil {
		t.Fatal(err)
	}
	maps.Copy(all, claims)
	if body, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(on.fleet.Dir, "pki", "global", "sa.key"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(raw)
	if block == nil {
		t.Fatal("the key of the global cluster's service accounts is not PEM")
	}
	var key *ecdsa.PrivateKey
	if parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		key, _ = parsed.(*ecdsa.PrivateKey)
	} else if key, err = x509.ParseECPrivateKey(block.Bytes); err != nil {
		t.Fatal(err)
	}
	if key == nil {
		t.Fatal("the key of the global cluster's service accounts is no ECDSA key")
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(body)
	digest := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	const half = 32
	signature := make([]byte, 2*half)
	r.FillBytes(signature[:half])
	s.FillBytes(signature[half:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// expiredToken is a token of an administrator that was valid an hour ago.
func expiredToken(t *testing.T, on *target) string {
	t.Helper()
	boss := newPerson(t, on, rules("*: *"))
	at := func(ago time.Duration) map[string]any {
		now := time.Now().Add(-ago)
		return map[string]any{"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	}
	// Only the time may be wrong with it.
	valid := gql.New(on.url, resigned(t, on, boss.Token, at(0)))
	if r := valid.Must(t, gql.Request{Query: anyQuery}); !sees(r) {
		t.Fatalf("the suite can't sign tokens: %s", r.Body)
	}
	return resigned(t, on, boss.Token, at(2*time.Hour))
}

// bindingOf gives a user who has nothing a role by an InstanceRoleBinding, in the whole
// instance unless namespaces are named, and waits until it has taken effect.
func bindingOf(t *testing.T, on *target, p *person, role kairshipv1alpha1.Role, instance string, namespaces ...string) *kairshipv1alpha1.InstanceRoleBinding {
	t.Helper()
	global := on.fleet.Client(t, "global")
	b := &kairshipv1alpha1.InstanceRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "suite-"},
		Spec: kairshipv1alpha1.InstanceRoleBindingSpec{
			InstanceRef: kairshipv1alpha1.InstanceReference{Name: instance},
			Subject:     kairshipv1alpha1.BindingSubject{Kind: kairshipv1alpha1.SubjectUser, Name: p.user},
			Role:        role,
			Namespaces:  namespaces,
		},
	}
	if err := global.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.IgnoreNotFound(global.Delete(context.Background(), b)) })
	poll.Until(t, propagationTimeout, "the binding has taken effect", func(ctx context.Context) error {
		if err := global.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(b.Status.Conditions, "Ready"); c == nil || c.Status != metav1.ConditionTrue {
			return fmt.Errorf("its conditions are %+v", b.Status.Conditions)
		}
		return nil
	})
	return b
}
