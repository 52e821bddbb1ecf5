package v1alpha1_test

import (
	"strings"
	"testing"
)

func TestClusterValidation(t *testing.T) {
	kube := newClient(t)
	const physical = "apiEndpoint: https://10.0.0.1:6443\ncredentialsSecretRef: {name: m1}"
	endpoint := func(url string) string {
		return "apiEndpoint: '" + url + "'\ncredentialsSecretRef: {name: m1}"
	}
	proxy := func(url string) string { return physical + "\nproxyURL: '" + url + "'" }
	for _, c := range []validationCase{
		{name: "m1", reason: "the shortest cluster is accepted, and is Physical", spec: physical},
		{name: "m1", reason: "everything a cluster may say is accepted", spec: `
type: Physical
hidden: true
apiEndpoint: https://rancher.example.com/k8s/clusters/c-1
credentialsSecretRef: {namespace: elsewhere, name: m1, key: admin.conf}
provider: aws
region: eu-central-1
zone: eu-central-1a
alias: Frankfurt
proxyURL: socks5://proxy.example.com:1080
instanceRef: {name: alpha}`},
		{name: "m1", reason: "how it is joined may be said", spec: physical + "\njoin: {credentials: Given, removalPolicy: Force}"},
		{
			name: "m1", reason: "there are two ways to give credentials", spec: physical + "\njoin: {credentials: Token}",
			want: []string{"spec.join.credentials", `supported values: "ServiceAccount", "Given"`},
		},
		{
			name: "m1", reason: "there are two ways to leave", spec: physical + "\njoin: {removalPolicy: Wait}",
			want: []string{"spec.join.removalPolicy", `supported values: "Block", "Force"`},
		},
		{name: "m1", reason: "IPv6 endpoints are accepted", spec: endpoint("https://[::1]:6443")},
		{name: "k-alpha", reason: "a virtual cluster is accepted", spec: "type: Virtual\nhidden: true\ninstanceRef: {name: alpha}\n" + physical},
		{name: "k-alpha", reason: "a virtual cluster may wait for its endpoint", spec: "type: Virtual\ninstanceRef: {name: alpha}"},
		{name: strings.Repeat("m", 48), reason: "a name of 48 characters is accepted", spec: physical},
		{
			name: strings.Repeat("m", 49), reason: "Karmada takes no longer name than 48 characters", spec: physical,
			want: []string{"metadata: Invalid value", "at most 48 characters"},
		},
		{
			name: "m.1", reason: "a name with a dot is no DNS label", spec: physical,
			want: []string{"metadata: Invalid value", "lower-case letters, digits and '-'"},
		},
		{
			name: "k-m1", reason: "the prefix k- is reserved", spec: physical,
			want: []string{"metadata: Invalid value", "names that begin with k- are reserved"},
		},
		{
			name: "alpha", reason: "a virtual cluster has the prefix", spec: "type: Virtual\ninstanceRef: {name: alpha}",
			want: []string{"metadata: Invalid value", "its name is k- followed by spec.instanceRef.name"},
		},
		{
			name: "k-alpha", reason: "a virtual cluster is called after its instance", spec: "type: Virtual\ninstanceRef: {name: beta}",
			want: []string{"metadata: Invalid value", "its name is k- followed by spec.instanceRef.name"},
		},
		{
			name: "k-alpha", reason: "a virtual cluster stands for an instance", spec: "type: Virtual",
			want: []string{"metadata: Invalid value", "its name is k- followed by spec.instanceRef.name"},
		},
		{name: "m1", reason: "an unknown type is refused", spec: "type: Edge\n" + physical, want: []string{"spec.type", `supported values: "Physical", "Virtual"`}},
		{
			name: "m1", reason: "a physical cluster has an endpoint", spec: "credentialsSecretRef: {name: m1}",
			want: []string{"spec.apiEndpoint: Required value", "a Physical cluster needs apiEndpoint"},
		},
		{
			name: "m1", reason: "a physical cluster has credentials", spec: "apiEndpoint: https://10.0.0.1:6443",
			want: []string{"spec.credentialsSecretRef: Required value", "a Physical cluster needs credentialsSecretRef"},
		},
		{name: "m1", reason: "plain http would show the credentials", spec: endpoint("http://10.0.0.1:8080"), want: []string{"spec.apiEndpoint", "must be an https URL"}},
		{name: "m1", reason: "an endpoint is more than a host", spec: endpoint("10.0.0.1:6443"), want: []string{"spec.apiEndpoint", "must be an https URL"}},
		{name: "m1", reason: "an endpoint has a host", spec: endpoint("https:///path"), want: []string{"spec.apiEndpoint", "must be an https URL"}},
		{name: "m1", reason: "credentials do not belong into a URL", spec: endpoint("https://me:secret@10.0.0.1"), want: []string{"spec.apiEndpoint", "must be an https URL"}},
		{name: "m1", reason: "a query would be lost", spec: endpoint("https://10.0.0.1?token=x"), want: []string{"spec.apiEndpoint", "must be an https URL"}},
		{name: "m1", reason: "an empty endpoint is refused", spec: endpoint(""), want: []string{"spec.apiEndpoint", "must be an https URL"}},
		{name: "m1", reason: "an http proxy is accepted", spec: proxy("http://proxy.example.com:3128")},
		{name: "m1", reason: "an https proxy is accepted", spec: proxy("https://proxy.example.com")},
		{name: "m1", reason: "no other scheme is a proxy", spec: proxy("ftp://proxy.example.com"), want: []string{"spec.proxyURL", "must be an http, https or socks5 URL"}},
		{name: "m1", reason: "a proxy's password does not belong into the object", spec: proxy("http://me:secret@proxy"), want: []string{"spec.proxyURL", "without credentials"}},
		{
			name: "m1", reason: "a Secret's key has few characters to choose from", spec: "apiEndpoint: https://10.0.0.1\ncredentialsSecretRef: {name: m1, key: a/b}",
			want: []string{"spec.credentialsSecretRef.key", "must be a key of a Secret"},
		},
		{
			name: "m1", reason: "an instance's name is a DNS label", spec: physical + "\ninstanceRef: {name: A_B}",
			want: []string{"spec.instanceRef.name", "must be the name of an Instance"},
		},
		{name: "m1", reason: "a region has a limit", spec: physical + "\nregion: " + strings.Repeat("r", 64), want: []string{"spec.region", "63"}},
	} {
		c.run(t, kube, "Cluster")
	}
}
