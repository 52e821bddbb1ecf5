package real

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// variable names the folder of the node.
const variable = "KAIRSHIP_REAL"

// What the node was set up with (deploy/real/internal/bringup).
const (
	instance    = "gamma"
	member      = "home"
	shop        = "shop"
	application = "clock"
	system      = "kairship-system"
	admin       = "admin"
)

// world is the node with what runs on it.
type world struct {
	KairshipURL string `json:"kairshipURL"`
	CAFile      string `json:"caFile"`
	TokenFile   string `json:"tokenFile"`
	Kubeconfig  string `json:"kubeconfig"`
	KubectlPath string `json:"kubectl"`
	HelmPath    string `json:"helm"`
	Chart       string `json:"chart"`
	Program     string `json:"program"`
	Network     string `json:"network"`

	dir      string
	token    string
	kairship *gql.Client
	kube     kubernetes.Interface
	objects  dynamic.Interface
}

// open reads the description of the node. Without one the test is skipped.
func open(t *testing.T) *world {
	t.Helper()
	dir := os.Getenv(variable)
	if dir == "" {
		t.Skipf("%s names no real node: `make test-real` starts one, or set it to the folder of `make real`", variable)
	}
	content, err := os.ReadFile(filepath.Join(dir, "real.json"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s is %s, which has no real node that is up", variable, dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := &world{dir: dir}
	if err := json.Unmarshal(content, w); err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(w.TokenFile)
	if err != nil {
		t.Fatal(err)
	}
	w.token = strings.TrimSpace(string(token))
	w.kairship = w.client(t)
	config, err := clientcmd.BuildConfigFromFlags("", w.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 100, 200
	if w.kube, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if w.objects, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return w
}

// client is one more client of Kairship, with connections of its own.
func (w *world) client(t testing.TB) *gql.Client {
	t.Helper()
	ca, err := os.ReadFile(w.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	c := gql.New(w.KairshipURL, w.token)
	c.HTTP.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	return c
}

// kubectl runs kubectl with a kubeconfig and returns what it prints.
func (w *world) kubectl(ctx context.Context, kubeconfig string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, w.KubectlPath, append([]string{"--kubeconfig", kubeconfig}, args...)...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problems.String()))
	}
	return string(out), nil
}

// memberKubeconfig writes one that leads through Kairship and through the instance to the member.
func (w *world) memberKubeconfig(t *testing.T) string {
	t.Helper()
	return w.kubeconfigOf(t, instance, "/apis/cluster.karmada.io/v1alpha1/clusters/"+member+"/proxy")
}

// kubeconfigOf writes one that leads through Kairship to a path of an instance.
func (w *world) kubeconfigOf(t *testing.T, name, path string) string {
	t.Helper()
	data, _ := gql.MustQuery[struct {
		Instance struct{ Kubeconfig struct{ YAML, Server string } }
	}](t, w.kairship, `query($name: String!) { instance(name: $name) { kubeconfig { yaml server } } }`, map[string]any{"name": name})
	config, err := clientcmd.Load([]byte(data.Instance.Kubeconfig.YAML))
	if err != nil {
		t.Fatalf("the kubeconfig that Kairship hands out: %v", err)
	}
	ca, err := os.ReadFile(w.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range config.Clusters {
		c.Server = data.Instance.Kubeconfig.Server + path
		c.CertificateAuthorityData = ca
	}
	for _, a := range config.AuthInfos {
		a.TokenFile, a.Token = "", w.token
	}
	file := filepath.Join(t.TempDir(), name+".yaml")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// pods lists pods of the node's cluster.
func (w *world) pods(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	list, err := w.kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// awaitReady waits until all pods of a namespace are ready, and there are some. Those that have done their work are left
// alone.
func (w *world) awaitReady(t *testing.T, within time.Duration, namespace string) {
	t.Helper()
	poll.Until(t, within, "the pods of "+namespace+" are ready", func(ctx context.Context) error {
		pods, err := w.pods(ctx, namespace, "")
		if err != nil {
			return err
		}
		if len(pods) == 0 {
			return errors.New("there are none")
		}
		for i := range pods {
			if pods[i].Status.Phase != corev1.PodSucceeded && !ready(&pods[i]) {
				return fmt.Errorf("pod %s is %s and not ready", pods[i].Name, pods[i].Status.Phase)
			}
		}
		return nil
	})
}

// readyAmong counts the pods that are ready.
func readyAmong(pods []corev1.Pod) int {
	count := 0
	for i := range pods {
		if ready(&pods[i]) {
			count++
		}
	}
	return count
}

// ready reports whether the kubelet found the pod ready, and it is not about to end.
func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
		}
	}
	return false
}
