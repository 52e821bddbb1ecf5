package connection

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

// Errors that describe how to correct credentials. They never quote a Secret's content, not even
// the part that could not be parsed.
var (
	// ErrMissing means that there are no credentials where they should be.
	ErrMissing = errors.New("credentials are missing")
	// ErrInvalid means that there are some, and that they cannot be used.
	ErrInvalid = errors.New("credentials cannot be used")
)

// Source says how to read a Secret's data.
type Source struct {
	// KubeconfigKey is the key that holds a kubeconfig. When it is empty the keys
	// kubeconfig, token and tls.crt with tls.key are tried, in this order.
	KubeconfigKey string
	// Endpoint is the apiserver's URL; it goes before the Secret's. It is required with
	// a client certificate, and with a token unless the Secret names its server. A token
	// without a CA is refused for another server than that of the Secret.
	Endpoint string
	// ProxyURL goes before the kubeconfig's.
	ProxyURL string
}

// Parse reads the data of a Secret. The error is ErrMissing when the Secret has
// none of the keys, and ErrInvalid, with everything that is wrong, when its
// content cannot be used.
func Parse(data map[string][]byte, source Source) (Connection, error) {
	connection, what, err := read(data, source)
	if err != nil {
		return Connection{}, err
	}
	problems := unpinned(connection, source)
	if source.Endpoint != "" {
		connection.Endpoint = source.Endpoint
	}
	if source.ProxyURL != "" {
		connection.ProxyURL = source.ProxyURL
	}
	connection.Endpoint = trimmed(connection.Endpoint)
	if problems = append(problems, connection.problems()...); len(problems) > 0 {
		return Connection{}, invalid(what, problems)
	}
	return connection, nil
}

// unpinned returns why the token of a Secret may not be sent to the server of the source. Without a
// CA in the Secret any server with a certificate of a public authority is accepted, so the Secret
// has to name the server itself: the user who writes the object that refers to the Secret need not
// be the owner of the token.
func unpinned(found Connection, source Source) []string {
	switch {
	case found.Token == "" || len(found.CAData) > 0 && !found.Insecure:
		return nil
	case source.Endpoint != "" && trimmed(source.Endpoint) != trimmed(found.Endpoint):
		return []string{fmt.Sprintf("it has no CA, so its token is sent to the server alone that the Secret names, which apiEndpoint is not: add the CA "+
			"(key %q, or certificate-authority-data in a kubeconfig), or name the server (key %q, or server in a kubeconfig)",
			v1alpha1.CABundleSecretKey, v1alpha1.ServerSecretKey)}
	case found.Insecure && source.ProxyURL != "" && source.ProxyURL != found.ProxyURL:
		return []string{"it switches the check of the serving certificate off, so its token is not sent through proxyURL: " +
			"add certificate-authority-data instead, or the proxy-url to the kubeconfig"}
	}
	return nil
}

func trimmed(endpoint string) string { return strings.TrimRight(endpoint, "/") }

// read finds the credentials; what names their place for a person.
func read(data map[string][]byte, source Source) (connection Connection, what string, err error) {
	key := source.KubeconfigKey
	if key == "" {
		key = v1alpha1.KubeconfigSecretKey
	}
	switch {
	case len(data[key]) > 0:
		what = fmt.Sprintf("the kubeconfig in key %q", key)
		connection, problems := fromKubeconfig(data[key])
		if len(problems) > 0 {
			return Connection{}, what, invalid(what, problems)
		}
		return connection, what, nil
	case source.KubeconfigKey != "":
		return Connection{}, what, fmt.Errorf("%w: the Secret has no key %q", ErrMissing, source.KubeconfigKey)
	case len(data[v1alpha1.TokenSecretKey]) > 0:
		return Connection{
			// Tokens are often written with the newline of the file they came from.
			Token:    strings.TrimSpace(string(data[v1alpha1.TokenSecretKey])),
			CAData:   data[v1alpha1.CABundleSecretKey],
			Endpoint: strings.TrimSpace(string(data[v1alpha1.ServerSecretKey])),
		}, fmt.Sprintf("the token in key %q", v1alpha1.TokenSecretKey), nil
	case len(data[v1alpha1.TLSCertSecretKey]) > 0 || len(data[v1alpha1.TLSKeySecretKey]) > 0:
		return Connection{
			CertData: data[v1alpha1.TLSCertSecretKey],
			KeyData:  data[v1alpha1.TLSKeySecretKey],
			CAData:   data[v1alpha1.CABundleSecretKey],
		}, fmt.Sprintf("the client certificate in keys %q and %q", v1alpha1.TLSCertSecretKey, v1alpha1.TLSKeySecretKey), nil
	}
	return Connection{}, what, fmt.Errorf("%w: the Secret has none of the keys %q, %q, or %q with %q", ErrMissing,
		v1alpha1.KubeconfigSecretKey, v1alpha1.TokenSecretKey, v1alpha1.TLSCertSecretKey, v1alpha1.TLSKeySecretKey)
}

func invalid(what string, problems []string) error {
	return fmt.Errorf("%w: %s: %s", ErrInvalid, what, strings.Join(problems, "; "))
}

// fromKubeconfig reads the current context of a kubeconfig.
func fromKubeconfig(text []byte) (connection Connection, problems []string) {
	config, err := clientcmd.Load(text)
	if err != nil {
		return Connection{}, []string{"it cannot be parsed" + place(err)}
	}
	if config.CurrentContext == "" {
		return Connection{}, []string{"it has no current-context"}
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil {
		return Connection{}, []string{"its current-context is not among its contexts"}
	}
	cluster, user := config.Clusters[current.Cluster], config.AuthInfos[current.AuthInfo]
	if cluster == nil {
		problems = append(problems, "the cluster of its current-context is not among its clusters")
	}
	if user == nil {
		problems = append(problems, "the user of its current-context is not among its users")
	}
	if len(problems) > 0 {
		return Connection{}, problems
	}
	if problems = outside(cluster, user); len(problems) > 0 {
		return Connection{}, problems
	}
	return Connection{
		Endpoint:   cluster.Server,
		ServerName: cluster.TLSServerName,
		CAData:     cluster.CertificateAuthorityData,
		Insecure:   cluster.InsecureSkipTLSVerify,
		Token:      strings.TrimSpace(user.Token),
		CertData:   user.ClientCertificateData,
		KeyData:    user.ClientKeyData,
		ProxyURL:   cluster.ProxyURL,
	}, nil
}

// outside lists the parts of a kubeconfig that are refused: those that refer to something outside
// the Secret, or change the caller's identity.
func outside(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) []string {
	var problems []string
	for _, part := range []struct {
		present bool
		problem string
	}{
		{cluster.CertificateAuthority != "", "certificate-authority names a file: inline it as certificate-authority-data"},
		{user.ClientCertificate != "", "client-certificate names a file: inline it as client-certificate-data"},
		{user.ClientKey != "", "client-key names a file: inline it as client-key-data"},
		{user.TokenFile != "", "tokenFile names a file: inline it as token"},
		{user.Exec != nil, "exec would run a program: use a token or a client certificate"},
		{user.AuthProvider != nil, "auth-provider is not supported: use a token or a client certificate"},
		{user.Username != "" || user.Password != "", "username and password are not supported: use a token or a client certificate"},
		{user.Impersonate != "" || user.ImpersonateUID != "" || len(user.ImpersonateGroups) > 0 || len(user.ImpersonateUserExtra) > 0,
			"as, as-uid, as-groups and as-user-extra are not supported: use the credentials of that user"},
	} {
		if part.present {
			problems = append(problems, part.problem)
		}
	}
	return problems
}

// parserPlace finds where in a kubeconfig its parser stopped: a line, or the
// field whose value has the wrong type.
var parserPlace = regexp.MustCompile(`\b(line \d+)\b|Go struct (field [A-Za-z.]+)`)

// place is all that may be said of a parser's error: its words quote the content.
func place(err error) string {
	found := parserPlace.FindStringSubmatch(err.Error())
	if found == nil {
		return ""
	}
	return fmt.Sprintf(" (%s%s)", found[1], found[2])
}
