package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kairship-io/kairship/internal/poll"
)

// configMap is a manifest of a ConfigMap in alpha's shop.
func configMap(name, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: shop}\ndata: {key: %s}\n", name, value)
}

// TestKubectl is what an editor does all day.
func TestKubectl(t *testing.T) {
	w := open(t)
	k := w.kubectl(t, "alice", "alpha")
	const name = "proxy-kubectl"
	t.Cleanup(func() {
		_, _ = k.try(context.Background(), "", "delete", "configmap", name, "-n", "shop", "--ignore-not-found")
	})

	k.run(t, "", []string{"get", "deployments", "-n", "shop"}, "frontend", "READY")
	k.run(t, "", []string{"get", "deploy", "frontend", "-n", "shop", "-o", "yaml"}, "kind: Deployment")
	k.run(t, "", []string{"get", "propagationpolicies", "-n", "shop"}, "frontend")
	k.run(t, "", []string{"get", "clusters"}, "m1", "m2")
	k.run(t, "", []string{"describe", "deployment", "frontend", "-n", "shop"}, "Name:", "frontend", "Replicas:")
	k.run(t, "", []string{"api-resources"}, "propagationpolicies", "deployments")
	k.run(t, "", []string{"version"}, "Server Version")
	k.run(t, "", []string{"explain", "propagationpolicy.spec"}, "resourceSelectors")
	k.run(t, "", []string{"auth", "whoami"}, "alice")
	k.run(t, "", []string{"auth", "can-i", "create", "deployments", "-n", "shop"}, "yes")
	if out, err := k.try(t.Context(), "", "auth", "can-i", "create", "clusterrolebindings"); err == nil || !strings.Contains(out, "no") {
		t.Errorf("alpha's editor may bind ClusterRoles there: %v %s", err, out)
	}

	k.run(t, configMap(name, "one"), []string{"apply", "-f", "-"}, "created")
	if out, err := k.try(t.Context(), configMap(name, "two"), "diff", "-f", "-"); err == nil || !strings.Contains(out, "+  key: two") {
		t.Errorf("diff finds no difference: %v\n%s", err, out)
	}
	k.run(t, configMap(name, "two"), []string{"apply", "-f", "-"}, "configured")
	k.run(t, configMap(name, "two"), []string{"apply", "--server-side", "--force-conflicts", "-f", "-"}, "serverside-applied")
	k.run(t, configMap(name, "two"), []string{"diff", "-f", "-"})
	k.run(t, "", []string{"patch", "configmap", name, "-n", "shop", "-p", `{"data":{"key":"three"}}`}, "patched")
	k.run(t, "", []string{"label", "configmap", name, "-n", "shop", "by=alice"}, "labeled")
	k.run(t, "", []string{"get", "configmap", name, "-n", "shop", "-o", "jsonpath={.data.key}{.metadata.labels.by}"}, "threealice")
	k.run(t, "", []string{"delete", "configmap", name, "-n", "shop"}, "deleted")
	k.refused(t, []string{"get", "configmap", name, "-n", "shop"}, "NotFound")
	// What the instance refuses to an editor, it says itself.
	k.refused(t, []string{"create", "clusterrole", "proxy-x", "--verb=get", "--resource=pods"}, "Forbidden", `User "alice"`)
}

// An editor writes into a namespace in the same breath in which they make it.
func TestKubectlInANewNamespace(t *testing.T) {
	w := open(t)
	k, alpha := w.kubectl(t, "alice", "alpha"), w.Client(t, "alpha")
	for n, form := range [][]string{{"apply", "-f", "-"}, {"apply", "--server-side", "-f", "-"}} {
		namespace := fmt.Sprintf("proxy-new-%d-%d", n, time.Now().UnixNano())
		t.Cleanup(func() {
			_ = alpha.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		})
		both := fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n---\n", namespace) +
			strings.Replace(configMap("settings", "one"), "namespace: shop", "namespace: "+namespace, 1)
		k.run(t, both, form, "configmap/settings")
	}
}

// TestKubectlWatch has kubectl print changes as they happen.
func TestKubectlWatch(t *testing.T) {
	w := open(t)
	k := w.kubectl(t, "alice", "alpha")
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	const name, before = "proxy-watch", "proxy-watch-before"
	t.Cleanup(func() {
		_, _ = k.try(context.Background(), "", "delete", "configmap", name, before, "-n", "shop", "--ignore-not-found")
	})
	k.run(t, configMap(before, "one"), []string{"apply", "-f", "-"})
	cmd := k.command(ctx, "", "get", "configmaps", "-n", "shop", "-w", "--output-watch-events")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	await := func(event string) {
		for {
			select {
			case line, open := <-lines:
				if !open {
					t.Fatalf("the watch ended before %s", event)
				}
				if strings.Contains(line, event) && strings.Contains(line, " "+name+" ") {
					return
				}
			case <-ctx.Done():
				t.Fatalf("the watch did not show %s", event)
			}
		}
	}
	// What is there from the beginning comes first; then the watch runs.
	select {
	case <-lines:
	case <-ctx.Done():
		t.Fatal("the watch does not begin")
	}
	k.run(t, configMap(name, "one"), []string{"apply", "-f", "-"})
	await("ADDED")
	k.run(t, configMap(name, "two"), []string{"apply", "-f", "-"})
	await("MODIFIED")
	k.run(t, "", []string{"delete", "configmap", name, "-n", "shop"})
	await("DELETED")
	stop()
	for range lines {
	}
	_ = cmd.Wait()
}

// TestKubectlInAMember asks a member through Karmada's own proxy below the
// passthrough: two proxies, and the member still knows who asks.
func TestKubectlInAMember(t *testing.T) {
	w := open(t)
	alpha, m1 := w.Client(t, "alpha"), w.Client(t, "m1")
	subject := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "alice"}}
	create := func(c client.Client, objects ...client.Object) {
		for _, object := range objects {
			if err := c.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Delete(context.Background(), object) })
		}
	}
	const name = "kairship-proxy-test"
	create(alpha,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"cluster.karmada.io"}, Resources: []string{"clusters/proxy"}, ResourceNames: []string{"m1"}, Verbs: []string{"*"},
		}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subject,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}})
	create(m1,
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: subject,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{""}, Resources: []string{"pods/exec", "pods/portforward"}, Verbs: []string{"get", "create"},
		}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name + "-sessions"}, Subjects: subject,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}})

	k := w.kubectl(t, "alice", "alpha").at(w.instanceURL("alpha") + "/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy")
	// Karmada learns of the permission, and tells m1 whom it may impersonate, in its own time.
	var out string
	poll.Until(t, 30*time.Second, "m1 is reached through alpha", func(context.Context) error {
		var err error
		if out, err = k.try(t.Context(), "", "get", "pods", "-n", "shop", "-o", "name"); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	pod, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	if !strings.HasPrefix(pod, "pod/") {
		t.Fatalf("m1 has no pods in shop: %s", out)
	}
	k.run(t, "", []string{"describe", pod, "-n", "shop"}, "Node:", "m1-node-")
	k.run(t, "", []string{"auth", "whoami"}, "alice")
	k.refused(t, []string{"delete", pod, "-n", "shop"}, "Forbidden", `User "alice"`)
	k.run(t, "", []string{"logs", pod, "-n", "shop"}, "This container is simulated")
	// A session goes all the way to the kubelet of the node, which is simulated and
	// runs nothing; this is its own answer.
	k.refused(t, []string{"exec", "-n", "shop", pod, "--", "id", "-u"}, "no exec found for container")
	poll.Until(t, 30*time.Second, "the audit has the command", func(context.Context) error {
		raw, err := os.ReadFile(filepath.Join(w.Logs, "kairship-apiserver.log"))
		if err != nil {
			return err
		}
		ran := fmt.Sprintf(`"exec":{"cluster":"m1","namespace":"shop","pod":%q,`, strings.TrimPrefix(pod, "pod/"))
		for line := range strings.Lines(string(raw)) {
			if strings.Contains(line, ran) && strings.Contains(line, `"command":["id","-u"]`) && strings.Contains(line, `"phase":"end"`) && strings.Contains(line, `"user":"alice"`) {
				return nil
			}
		}
		return errors.New("no line has it")
	})
	k.forwards(t, pod)
}

// TestKubectlReadsLogsOfAMember does what docs/passthrough.md shows, with the roles that
// the fleet gives its people, and asks for what these do not permit.
func TestKubectlReadsLogsOfAMember(t *testing.T) {
	w := open(t)
	for _, member := range []string{"m1", "m2"} {
		at := w.instanceURL("alpha") + "/apis/cluster.karmada.io/v1alpha1/clusters/" + member + "/proxy"
		admin := w.kubectl(t, "admin", "alpha").at(at)
		admin.run(t, "", []string{"logs", "-n", "shop", "deploy/frontend"}, "This container is simulated")
		byMember := `(refused by member cluster "` + member + `" of instance "alpha")`
		admin.refused(t, []string{"get", "secrets", "-n", "shop"}, "Forbidden", `User "admin"`, byMember)
		admin.refused(t, []string{"delete", "deploy/frontend", "-n", "shop"}, "Forbidden", byMember)
		w.kubectl(t, "alice", "alpha").at(at).refused(t, []string{"logs", "-n", "shop", "deploy/frontend"},
			"Forbidden", `User "alice"`, "clusters/proxy", `(refused by instance "alpha")`)
	}
}

// forwards sends something through a forwarded port, which the simulated node sends back.
func (k kubectl) forwards(t *testing.T, pod string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := k.command(ctx, "", "port-forward", "-n", "shop", pod, ":80")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		stop()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	address, _, found := strings.Cut(strings.TrimPrefix(line, "Forwarding from "), " ")
	if err != nil || !found {
		t.Fatalf("kubectl port-forward says %q: %v", line, err)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{"one\n", "two\n"} {
		if _, err := io.WriteString(conn, said); err != nil {
			t.Fatal(err)
		}
		heard := make([]byte, len(said))
		if _, err := io.ReadFull(conn, heard); err != nil || string(heard) != said {
			t.Fatalf("%q came back as %q: %v", said, heard, err)
		}
	}
}
