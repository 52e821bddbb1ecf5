package real

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/keyutil"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

const (
	// mounted is how long it may take until a changed Secret is in the pods and was read there.
	mounted = 3 * time.Minute
	// inARow is how often something is looked at, so that both replicas answer.
	inARow = 20
)

// TestSecretsRotatedUnderLoad rotates, as docs/operations.md says, the passwords of the database, the serving certificate, the
// key of consistency tokens and the credentials of a cluster. No request fails.
func TestSecretsRotatedUnderLoad(t *testing.T) {
	w := open(t)
	if os.Getenv(bundledVariable) != "" {
		t.Skip("the chart makes the secrets of this node")
	}
	l := w.begin(t)
	// The kubelet brings the passwords into a pod no later than the certificate, which is written after them.
	refuse := w.rotatePasswords(t)
	w.rotateCertificate(t)
	w.rotateKey(t)
	w.rotateCredentials(t)
	refuse(t)
	l.check(t, 0)

	w.sql(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename LIKE 'kairship%'`)
	poll.Until(t, time.Minute, "new connections are made with the new passwords", func(ctx context.Context) error {
		var failed error
		for range inARow {
			_, _, err := gql.Query[any](ctx, w.kairship, loadQuery, map[string]any{"instance": instance, "namespace": shop, "name": application})
			failed = errors.Join(failed, err)
		}
		connected := w.sql(t, `SELECT string_agg(DISTINCT regexp_replace(usename, '_2$', ''), ' ') FROM pg_stat_activity WHERE usename LIKE 'kairship%'`)
		if connected != "kairship kairship_reader\n" {
			failed = errors.Join(failed, fmt.Errorf("connected are %q", connected))
		}
		return failed
	})
	TestApplicationRuns(t)
}

// rotateCertificate writes another certificate of the same authority and for the same names, and waits for both replicas to
// serve it.
func (w *world) rotateCertificate(t *testing.T) {
	served := func(ctx context.Context) (*x509.Certificate, error) {
		address := strings.TrimPrefix(w.KairshipURL, "https://")
		conn, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		defer func() { _ = conn.Close() }()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0], nil
	}
	before, err := served(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	serial := w.issue(t, dir, before)
	write, _, _ := strings.Cut(block(t, "### A serving certificate", "sh", 0), "kubectl -n kairship-system port-forward")
	w.shellIn(t, dir, write)
	poll.Until(t, mounted, "both replicas serve the new certificate", func(ctx context.Context) error {
		for range inARow {
			got, err := served(ctx)
			if err != nil {
				return err
			}
			if got.SerialNumber.Cmp(serial) != 0 {
				return fmt.Errorf("the certificate has the number %x, want %x", got.SerialNumber, serial)
			}
		}
		return nil
	})
}

// issue has the node's authority sign a certificate like another one, and writes it with its key and the authority to a folder.
func (w *world) issue(t *testing.T, dir string, like *x509.Certificate) *big.Int {
	t.Helper()
	pki := filepath.Join(w.dir, "pki")
	authority, err := tls.LoadX509KeyPair(filepath.Join(pki, "ca.crt"), filepath.Join(pki, "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial := new(big.Int).Add(like.SerialNumber, big.NewInt(1))
	template := &x509.Certificate{
		SerialNumber: serial, Subject: like.Subject, NotBefore: like.NotBefore, NotAfter: like.NotAfter,
		KeyUsage: like.KeyUsage, ExtKeyUsage: like.ExtKeyUsage, DNSNames: like.DNSNames, IPAddresses: like.IPAddresses,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, authority.Leaf, key.Public(), authority.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	private, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), "tls.key": private,
		"ca.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Certificate[0]}),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return serial
}

// rotateKey puts a new key beside the old: a token from before is good. After the next rotation it is not.
func (w *world) rotateKey(t *testing.T) {
	rotate := block(t, "### The key of consistency tokens", "sh", 0)
	data, _ := gql.MustQuery[struct {
		RestartWorkload struct{ ConsistencyToken string }
	}](t, w.kairship, `mutation($instance: String!, $namespace: String!, $name: String!) {
		restartWorkload(input: {instance: $instance, kind: DEPLOYMENT, namespace: $namespace, name: $name}) { consistencyToken }
	}`, map[string]any{"instance": instance, "namespace": shop, "name": application})
	client := w.client(t)
	client.Consistency = data.RestartWorkload.ConsistencyToken
	ask := func(ctx context.Context) error {
		client.HTTP.CloseIdleConnections()
		_, _, err := gql.Query[any](ctx, client, loadQuery, map[string]any{"instance": instance, "namespace": shop, "name": application})
		return err
	}
	w.shell(t, rotate)
	for range inARow {
		if err := ask(t.Context()); err != nil {
			t.Fatalf("a token that is sealed with the key before: %v", err)
		}
	}
	w.shell(t, rotate)
	poll.Until(t, time.Minute, "no replica accepts a token of the key before the one before", func(ctx context.Context) error {
		for range inARow {
			if err := ask(ctx); err == nil || !strings.Contains(err.Error(), "no consistency token of yours") {
				return fmt.Errorf("it is answered with error %w", err)
			}
		}
		return nil
	})
}

// rotateCredentials gives Kairship the token of an account in the member, then that of another one, and takes the first away.
func (w *world) rotateCredentials(t *testing.T) {
	const first, second = "kairship-first", "kairship-second"
	reachable := func(want, words string) {
		t.Helper()
		poll.Until(t, time.Minute, "Reachable of "+member+" is "+want, func(ctx context.Context) error {
			out, err := w.kubectl(ctx, w.Kubeconfig, "get", "clusters.kairship.io", member, "--output",
				`jsonpath={range .status.conditions[?(@.type=="Reachable")]}{.status} {.message}{end}`)
			if err == nil && (!strings.HasPrefix(out, want+" ") || !strings.Contains(out, words)) {
				err = fmt.Errorf("it is %s", out)
			}
			return err
		})
	}
	of, err := w.kubectl(t.Context(), w.Kubeconfig, "get", "clusters.kairship.io", member, "--output", "jsonpath={.spec.credentialsSecretRef.name}")
	if err != nil || of == "" {
		t.Fatalf("the Secret of cluster %s is %q, error %v", member, of, err)
	}
	secrets := w.kube.CoreV1().Secrets(system)
	original, err := secrets.Get(t.Context(), of, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	write, _, _ := strings.Cut(block(t, "### Credentials of an instance or a cluster", "sh", 0), "kubectl get instance")
	write = strings.NewReplacer("alpha-kubeconfig", of, "alpha.yaml", "member.yaml").Replace(write)
	give := func(content []byte) {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "member.yaml"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		w.shellIn(t, dir, write)
	}
	defer func() { give(original.Data["kubeconfig"]); reachable("True", "") }()

	config := func(token string) []byte {
		t.Helper()
		parsed, err := clientcmd.Load(original.Data["kubeconfig"])
		if err != nil {
			t.Fatal(err)
		}
		for _, user := range parsed.AuthInfos {
			user.ClientCertificateData, user.ClientKeyData, user.Token = nil, nil, token
		}
		content, err := clientcmd.Write(*parsed)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	give(config(w.account(t, first)))
	reachable("True", "")
	give(config("nonsense"))
	reachable("False", "does not accept the credentials")
	give(config(w.account(t, second)))
	reachable("True", "")
	if err := w.kube.CoreV1().ServiceAccounts(metav1.NamespaceSystem).Delete(t.Context(), first, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for range inARow {
		reachable("True", "")
		time.Sleep(time.Second)
	}
}

// account makes an administrator of the node's cluster and returns its token.
func (w *world) account(t *testing.T, name string) string {
	t.Helper()
	of := metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceSystem}
	accounts := w.kube.CoreV1().ServiceAccounts(of.Namespace)
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: of}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	bindings := w.kube.RbacV1().ClusterRoleBindings()
	_, err := bindings.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: of.Namespace}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		_ = bindings.Delete(ctx, name, metav1.DeleteOptions{})
		_ = accounts.Delete(ctx, name, metav1.DeleteOptions{})
	})
	request, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// rotatePasswords lets the pair of roles in that is not in use and puts their DSNs into the Secret. It returns what refuses the others.
func (w *world) rotatePasswords(t *testing.T) (refuse func(*testing.T)) {
	t.Helper()
	const heading = "### The passwords of the database"
	if w.sql(t, "SELECT rolname FROM pg_roles WHERE rolname = 'kairship_2'") == "" {
		w.sql(t, block(t, heading, "sql", 0))
	}
	enter, leave := block(t, heading, "sql", 1), block(t, heading, "sql", 2)
	secrets := w.kube.CoreV1().Secrets(system)
	secret, err := secrets.Get(t.Context(), "kairship-index-database", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"writer", "reader"} {
		dsn, err := url.Parse(string(secret.Data[key]))
		if err != nil {
			t.Fatal(err)
		}
		next, again := strings.CutSuffix(dsn.User.Username(), "_2")
		if !again {
			next += "_2"
		} else {
			enter = strings.ReplaceAll(enter, next+"_2 ", next+" ")
			leave = strings.ReplaceAll(leave, next+" ", next+"_2 ")
		}
		password := rand.Text()
		enter = strings.Replace(enter, next+" LOGIN PASSWORD '…'", next+" LOGIN PASSWORD '"+password+"'", 1)
		dsn.User = url.UserPassword(next, password)
		secret.Data[key] = []byte(dsn.String())
	}
	if strings.Contains(enter, "…") {
		t.Fatalf("a password is missing in\n%s", enter)
	}
	w.sql(t, enter)
	if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T) { w.sql(t, leave) }
}

// sql carries out statements as an administrator of the database, and returns their rows.
func (w *world) sql(t *testing.T, statements string) string {
	t.Helper()
	out, err := w.kubectl(t.Context(), w.Kubeconfig, "--namespace", "database", "exec", "postgres-0", "--",
		"psql", "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1", "--dbname=clusterpedia", "--command="+statements)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
