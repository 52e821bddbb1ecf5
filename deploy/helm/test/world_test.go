package test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/kairship-io/kairship/deploy/helm/privilege"
	"github.com/kairship-io/kairship/internal/poll"
)

// auditLog is where the API server records what the ServiceAccounts asked of it, and
// what it answered.
var auditLog = filepath.Join(os.TempDir(), fmt.Sprintf("kairship-chart-audit-%d.log", os.Getpid()))

// withAudit has the API server write the audit log.
func withAudit(env *envtest.Environment) error {
	policy := auditLog + ".policy"
	if err := os.WriteFile(policy, []byte(`{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
	"rules": [{"level": "Metadata", "userGroups": ["system:serviceaccounts:kairship-system"]}, {"level": "None"}]}`), 0o600); err != nil {
		return err
	}
	env.ControlPlane.GetAPIServer().Configure().Set("audit-policy-file", policy).Set("audit-log-path", auditLog)
	return nil
}

// record is what the audit log reports about the accounts that the chart makes.
func record(t *testing.T) *privilege.Record {
	t.Helper()
	r := privilege.NewRecord(namespace, roles(t, matrix(t)["default"]))
	if err := r.Follow(auditLog); err != nil {
		t.Fatal(err)
	}
	return r
}

// token makes a token of a ServiceAccount, and the account where it is missing.
func token(t *testing.T, kube client.Client, in, name string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: in, Name: name}}
	if err := kube.Create(t.Context(), account); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{}
	if err := kube.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// kubeconfig is a file for a cluster, with a token or with the configuration's own
// credentials.
func kubeconfig(t *testing.T, config *rest.Config, token string) []byte {
	t.Helper()
	user := &clientcmdapi.AuthInfo{Token: token}
	if token == "" {
		user = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	}
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": user},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// freeAddress is one without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// start runs a program until the test ends. What it logs is shown when the test failed.
func start(t *testing.T, binary string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	// Not with the test's context, which would kill it: it is to end in order.
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	// It must not outlive a test that panics.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if content, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			const most = 20_000
			t.Logf("%s:\n%s", filepath.Base(binary), content[max(0, len(content)-most):])
		}
		_ = log.Close()
	})
}

// eventually waits for a condition, generously: the machine may be busy.
func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	poll.Until(t, 2*time.Minute, what, func(context.Context) error { return check() })
}

// answers checks that a server says OK.
func answers(url string) func() error {
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, response.Status)
		}
		return nil
	}
}

// caller sends GraphQL operations.
type caller struct{ url, token string }

// send returns the answer's data as text. It fails the test for an error that is not
// of one of the codes.
func (c caller) send(t *testing.T, operation string, codes ...string) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"query": operation})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+"/graphql", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+c.token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Data   json.RawMessage `json:"data"`
		Errors []struct {
			Message    string `json:"message"`
			Extensions struct {
				Code string `json:"code"`
			} `json:"extensions"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(content, &answer); err != nil {
		t.Fatalf("%s: %v: %s", operation, err, content)
	}
	for _, e := range answer.Errors {
		if !strings.Contains(strings.Join(codes, " "), e.Extensions.Code) {
			t.Errorf("%s: %s: %s", operation, e.Extensions.Code, e.Message)
		}
	}
	return string(answer.Data)
}
