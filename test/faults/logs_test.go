package faults

import (
	"bytes"
	"encoding/base64"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
	kairshipv1alpha1 "github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// looked is how far each log was looked through, by path; nil before the first test.
var looked map[string]int64

// secretsOfTests are the secrets that tests made, besides those of the fleet.
var secretsOfTests = map[string]string{}

// watchLogs looks, when the test has ended and the fleet is healed, through what
// was written into the logs meanwhile: no secret may be in any of them, and in those
// of Kairship neither a panic, nor that it lost what it follows, nor a row of the projection that differed. The first test looks for secrets in all that was
// written before, too.
func watchLogs(t *testing.T, f *fleet.Fleet) {
	t.Helper()
	secrets := secretsOf(t, f)
	if looked == nil {
		looked = map[string]int64{}
		look(t, f, func(process string, line []byte) { noSecret(t, secrets, process, line) })
	}
	t.Cleanup(func() {
		maps.Copy(secrets, secretsOfTests)
		look(t, f, func(process string, line []byte) {
			noSecret(t, secrets, process, line)
			// Also of a leader that was killed since, whose metric is lost.
			if bytes.Contains(line, []byte("Row of the projection")) {
				t.Errorf("%s found a difference of the projection: %.400s", process, line)
			}
			if strings.HasPrefix(process, "kairship-") && panicked(line) {
				t.Errorf("%s panicked or failed internally: %.400s", process, line)
			}
			// After a restart the global cluster remembers no changes from before. A client that
			// asks for them has to begin anew, and not to ask again.
			if bytes.Contains(line, []byte("the credentials of the instance cannot be read now")) && bytes.Contains(line, []byte("too old resource version")) {
				t.Errorf("%s does not follow credentials that were not changed: %.400s", process, line)
			}
		})
	})
}

// look shows every line that was not looked at to a function.
func look(t *testing.T, f *fleet.Fleet, at func(process string, line []byte)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(f.Logs, "*.log"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no logs in %s: %v", f.Logs, err)
	}
	for _, file := range files {
		for _, line := range unread(t, file) {
			at(strings.TrimSuffix(filepath.Base(file), ".log"), line)
		}
	}
}

func noSecret(t *testing.T, secrets map[string]string, process string, line []byte) {
	t.Helper()
	for whose, secret := range secrets {
		if bytes.Contains(line, []byte(secret)) {
			t.Errorf("the log of %s has %s in it", process, whose)
		}
	}
}

// panicked reports whether a line of Kairship's log is about a failure of its own.
func panicked(line []byte) bool {
	for _, mark := range []string{"panic", "runtime error", `"code":"INTERNAL"`, "goroutine "} {
		if bytes.Contains(line, []byte(mark)) {
			return true
		}
	}
	return false
}

// unread is what was written since the last look. A log that has grown large is
// set aside when its process starts; it is looked through to its end then.
func unread(t *testing.T, file string) [][]byte {
	t.Helper()
	from := looked[file]
	var text []byte
	if info, err := os.Stat(file); err == nil && info.Size() < from {
		text = readFrom(t, file+".1", from)
		from = 0
	}
	more := readFrom(t, file, from)
	looked[file] = from + int64(len(more))
	return bytes.Split(append(text, more...), []byte("\n"))
}

func readFrom(t *testing.T, file string, offset int64) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// secretsOf are pieces of every secret of the fleet that are long enough to be
// nothing else: of its people's tokens, of the tokens and keys in the
// kubeconfigs of its administrators and its processes, and of the credentials
// that Kairship was given and gave to the index.
func secretsOf(t *testing.T, f *fleet.Fleet) map[string]string {
	t.Helper()
	secrets := map[string]string{}
	for person := range f.Tokens {
		secrets["the token of "+person] = f.Token(t, person)
	}
	for _, pattern := range []string{"*.yaml", "components/*.yaml"} {
		kubeconfigs, err := filepath.Glob(filepath.Join(f.Dir, "kubeconfig", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range kubeconfigs {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			addKubeconfig(t, secrets, "in "+filepath.Base(path), text)
		}
	}
	const ofFiles = 10 // Four people, and a key or token for each of six clusters.
	if len(secrets) < ofFiles {
		t.Fatalf("found only %d secrets in the fleet's files", len(secrets))
	}

	global, files := f.Client(t, "global"), len(secrets)
	var given corev1.SecretList
	if err := global.List(t.Context(), &given, client.InNamespace(kairshipv1alpha1.SystemNamespace)); err != nil {
		t.Fatal(err)
	}
	for i := range given.Items {
		whose := "in Secret " + given.Items[i].Name
		for key, value := range given.Items[i].Data {
			switch key {
			case kairshipv1alpha1.KubeconfigSecretKey:
				addKubeconfig(t, secrets, whose, value)
			case kairshipv1alpha1.TokenSecretKey:
				addToken(secrets, whose, string(value))
				addEncoded(secrets, whose, value)
			}
		}
	}
	var pedias pediav1alpha2.PediaClusterList
	if err := global.List(t.Context(), &pedias); err != nil {
		t.Fatal(err)
	}
	for i := range pedias.Items {
		kubeconfig, err := fleet.CollectedWith(t.Context(), global, pedias.Items[i].Name)
		if err != nil {
			t.Fatal(err)
		}
		addKubeconfig(t, secrets, "that collects "+pedias.Items[i].Name, kubeconfig)
	}
	const ofObjects = 10 // At least a token and a kubeconfig for each of five clusters.
	if len(secrets) < files+ofObjects {
		t.Fatalf("found only %d secrets in the global cluster", len(secrets)-files)
	}
	for whose, secret := range secrets {
		if len(secret) < 16 {
			t.Fatalf("%s is too short to be looked for", whose)
		}
	}
	return secrets
}

// addKubeconfig adds what is secret in a kubeconfig, and the whole of it in
// base64, as it is in objects of Kubernetes.
func addKubeconfig(t *testing.T, secrets map[string]string, whose string, text []byte) {
	t.Helper()
	config, err := clientcmd.Load(text)
	if err != nil {
		t.Fatalf("the kubeconfig %s cannot be read", whose) // The error would quote it.
	}
	for _, user := range config.AuthInfos {
		addToken(secrets, whose, user.Token)
		// One full line of a PEM is enough.
		if lines := strings.Split(string(user.ClientKeyData), "\n"); len(lines) > 2 {
			secrets["the key "+whose] = lines[1]
			addEncoded(secrets, "the key "+whose, user.ClientKeyData)
		}
	}
	addEncoded(secrets, "the kubeconfig "+whose, text)
}

// addToken adds the end of a token: of a JWT that is the signature, which alone
// is secret.
func addToken(secrets map[string]string, whose, token string) {
	if token = strings.TrimSpace(token); token != "" {
		secrets["the token "+whose] = token[strings.LastIndex(token, ".")+1:]
	}
}

// addEncoded adds the end of something in base64. What is secret in a kubeconfig
// is there.
func addEncoded(secrets map[string]string, whose string, value []byte) {
	encoded := base64.StdEncoding.EncodeToString(value)
	secrets[whose+", in base64"] = encoded[max(0, len(encoded)-200):]
}
