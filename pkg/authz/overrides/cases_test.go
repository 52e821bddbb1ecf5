package overrides_test

import (
	"encoding/json"
	"fmt"
)

// testCase is a spec, and the fields that only an admin may write so. The admission
// policy and Check are both held to it.
type testCase struct {
	reason string
	spec   string // YAML
	wrong  []string
}

const configMaps = "resourceSelectors: [{apiVersion: v1, kind: ConfigMap}]\n"

// one is a spec for ConfigMaps with one overrider.
func one(overrider string) string {
	return configMaps + "overrideRules: [{overriders: {" + overrider + "}}]"
}

const plaintextPath = "spec.overrideRules[0].overriders.plaintext[0].path"

// paths are JSON pointers and whether an override may change what they point to. Each
// becomes a case of every overrider that has a path of its own.
var paths = []struct {
	path    string
	allowed bool
}{
	{"/spec", true},
	{"/spec/replicas", true},
	{"/spec/template/spec/containers/0/image", true},
	{"/spec/template/metadata/annotations/work.karmada.io~1conflict-resolution", true}, // a pod's, which Karmada does not read
	{"/spec/a~1b~0c", true},
	{"/data", true},
	{"/data/..data", true},
	{"/data/db.yaml", true},
	{"/binaryData/picture", true},
	{"/stringData/password", true},
	{"/metadata/labels", true},
	{"/metadata/annotations", true},
	{"/metadata/labels/team", true},
	{"/metadata/labels/app.kubernetes.io~1name", true},
	{"/metadata/annotations/prometheus.io~1scrape", true},
	{"/metadata/annotations/notkarmada.io~1x", true},

	{"", false}, // the whole object
	{"/", false},
	{"//", false},
	{"//spec", false},
	{"/apiVersion", false},
	{"/kind", false},
	{"/roleRef", false},
	{"/subjects", false},
	{"/subjects/0/name", false},
	{"/rules", false},
	{"/rules/-", false},
	{"/type", false},
	{"/webhooks", false},
	{"/status", false},
	{"/metadata", false},
	{"/metadata/", false},
	{"/metadata/name", false},
	{"/metadata/namespace", false},
	{"/metadata/ownerReferences", false},
	{"/metadata/finalizers/0", false},
	{"/metadata/labelsX", false},
	{"/metadata/labels/", false},
	{"/metadata/labels/app/x", false},
	{"/metadata/labels/../namespace", false},
	{"/metadata~1labels", false},
	{"/meta~0data/labels", false},
	{"/~0metadata", false},
	{"/~1metadata/namespace", false},
	{"/specX", false},
	{"/Spec", false},
	{"/dataX/y", false},
	{"/spec~1", false},
	{"/spec/..", false},
	{"/spec/../metadata/namespace", false},
	{"/spec/./x", false},
	{"/spec/a\n/metadata", false},
	{"spec", false},
	{"spec/replicas", false}, // Karmada would change /replicas
	{"spec/kind", false},
	{"x/roleRef", false},
	{"#/spec", false},
	{" /spec", false},
	{"/metadata/labels/karmada.io~1managed", false},
	{"/metadata/labels/resourcebinding.karmada.io~1permanent-id", false},
	{"/metadata/annotations/work.karmada.io~1conflict-resolution", false},
	{"/metadata/annotations/resourcetemplate.karmada.io~1uid", false},
	{"/metadata/annotations/work.karmada.io~01conflict-resolution", false},
	{"/metadata/annotations/work.karmada.io~1a~1b", false},
	{"/metadata/labels/kairship.io~1owner-uid", false},
	{"/metadata/labels/rbac.authorization.k8s.io~1aggregate-to-admin", false},
}

// cases are all cases: those of paths and those of the rest of a spec.
func cases() []testCase {
	all := []testCase{
		{"nothing is overridden", "{}", nil},
		{"an image of any kind of workload", "overrideRules: [{overriders: {imageOverrider: [{component: Tag, operator: replace, value: v2}]}}]", nil},
		{"command and args", "overrideRules: [{overriders: {commandOverrider: [{containerName: c, operator: add, value: [x]}], argsOverrider: [{containerName: c, operator: remove, value: [--x]}]}}]", nil},
		{"labels and annotations", "overrideRules: [{overriders: {labelsOverrider: [{operator: add, value: {team: a}}], annotationsOverrider: [{operator: add, value: {example.com/a: b}}]}}]", nil},
		{"a label of Karmada", one("labelsOverrider: [{operator: remove, value: {team: a, karmada.io/managed: 'true'}}]"), []string{"spec.overrideRules[0].overriders.labelsOverrider[0].value"}},
		{"an annotation that takes over what is in the member", one("annotationsOverrider: [{operator: add, value: {work.karmada.io/conflict-resolution: overwrite}}]"), []string{"spec.overrideRules[0].overriders.annotationsOverrider[0].value"}},
		{"the same, as Karmada decodes it", one("annotationsOverrider: [{operator: add, value: {work.karmada.io~1conflict-resolution: overwrite}}]"), []string{"spec.overrideRules[0].overriders.annotationsOverrider[0].value"}},
		{"a label that makes a ClusterRole a part of another", one("labelsOverrider: [{operator: add, value: {rbac.authorization.k8s.io/aggregate-to-admin: 'true'}}]"), []string{"spec.overrideRules[0].overriders.labelsOverrider[0].value"}},
		{"a label of Kairship", one("labelsOverrider: [{operator: add, value: {kairship.io/owner-uid: x}}]"), []string{"spec.overrideRules[0].overriders.labelsOverrider[0].value"}},

		{"all labels", one("plaintext: [{path: /metadata/labels, operator: replace, value: {team: a, example.com/b: c}}]"), nil},
		{"all labels, away", one("plaintext: [{path: /metadata/labels, operator: remove}]"), nil},
		{"all labels, with one of Karmada", one("plaintext: [{path: /metadata/labels, operator: add, value: {karmada.io/managed: 'true'}}]"), []string{"spec.overrideRules[0].overriders.plaintext[0].value"}},
		{"all annotations, with one of Karmada", one("plaintext: [{path: /metadata/annotations, operator: add, value: {a: b, work.karmada.io/conflict-resolution: overwrite}}]"), []string{"spec.overrideRules[0].overriders.plaintext[0].value"}},
		{"labels that are a list", one("plaintext: [{path: /metadata/labels, operator: add, value: [karmada.io/managed]}]"), []string{"spec.overrideRules[0].overriders.plaintext[0].value"}},
		{"labels that are text", one("plaintext: [{path: /metadata/labels, operator: add, value: x}]"), []string{"spec.overrideRules[0].overriders.plaintext[0].value"}},
		{"labels without a value", one("plaintext: [{path: /metadata/labels, operator: add}]"), []string{"spec.overrideRules[0].overriders.plaintext[0].value"}},
		{"any value of a path in /data", one("plaintext: [{path: /data, operator: add, value: {karmada.io/x: y}}]"), nil},

		{"the document in a field, whatever its sub-paths", one("fieldOverrider: [{fieldPath: /data/db.yaml, yaml: [{subPath: /metadata/namespace, operator: replace, value: x}]}, {fieldPath: /data/db.json, json: [{subPath: /kind, operator: add, value: x}]}]"), nil},
		{"an image without predicate beside one with a wrong one", one("imageOverrider: [{component: Tag, operator: remove}, {component: Tag, operator: remove, predicate: {path: /metadata/name}}]"), []string{"spec.overrideRules[0].overriders.imageOverrider[1].predicate.path"}},

		{"the second of two rules, the second of two changes", configMaps + "overrideRules: [{overriders: {plaintext: [{path: /data/a, operator: remove}]}}, " +
			"{targetCluster: {clusterNames: [m1]}, overriders: {plaintext: [{path: /data/a, operator: remove}, {path: /kind, operator: replace, value: Secret}]}}]",
			[]string{"spec.overrideRules[1].overriders.plaintext[1].path"}},
		{"faults of all kinds", "resourceSelectors: [{apiVersion: v1, kind: ConfigMap}, {apiVersion: v1, kind: ResourceQuota}]\noverrideRules: [{overriders: {plaintext: [{path: /kind, operator: replace, value: Secret}], labelsOverrider: [{operator: add, value: {karmada.io/managed: x}}]}}]",
			[]string{"spec.resourceSelectors[1].kind", plaintextPath, "spec.overrideRules[0].overriders.labelsOverrider[0].value"}},
		{"the deprecated form", configMaps + "overriders: {plaintext: [{path: /data/a, operator: remove}]}", nil},
		{"the deprecated form, beyond", configMaps + "targetCluster: {clusterNames: [m1]}\noverriders: {plaintext: [{path: /roleRef, operator: add, value: {}}]}", []string{"spec.overriders.plaintext[0].path"}},
		{"the deprecated form, a label", configMaps + "overriders: {labelsOverrider: [{operator: add, value: {karmada.io/managed: x}}]}", []string{"spec.overriders.labelsOverrider[0].value"}},
		{"the deprecated form beside rules", configMaps + "overriders: {plaintext: [{path: /subjects, operator: remove}]}\noverrideRules: [{overriders: {plaintext: [{path: /data/a, operator: remove}]}}]", []string{"spec.overriders.plaintext[0].path"}},

		{"the spec of all resources, limits among them", "overrideRules: [{overriders: {plaintext: [{path: /spec/hard, operator: replace, value: {}}]}}]", []string{plaintextPath}},
		{"the spec as a whole, of all resources", "resourceSelectors: []\noverrideRules: [{overriders: {plaintext: [{path: /spec, operator: replace, value: {}}]}}]", []string{plaintextPath}},
		{"an image path in all resources", "overrideRules: [{overriders: {imageOverrider: [{component: Tag, operator: remove, predicate: {path: /spec/image}}]}}]", []string{"spec.overrideRules[0].overriders.imageOverrider[0].predicate.path"}},
		{"data of all resources", "overrideRules: [{overriders: {plaintext: [{path: /data/a, operator: remove}]}}]", nil},
	}
	for _, kind := range []struct {
		version, kind string
		allowed       bool
	}{
		{"v1", "ConfigMap", true}, {"apps/v1", "Deployment", true}, {"v1", "Namespace", true}, {"networking.k8s.io/v1", "NetworkPolicy", true},
		{"example.com/v1", "Role", true}, {"snapshot.storage.k8s.io/v1", "VolumeSnapshot", true}, {"policy/v1", "PodDisruptionBudget", true},
		{"rbac.authorization.k8s.io/v1", "RoleBinding", false}, {"rbac.authorization.k8s.io/v1", "ClusterRole", false},
		{"v1", "ResourceQuota", false}, {"v1", "LimitRange", false}, {"v1", "PersistentVolume", false}, {"v1", "Node", false},
		{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", false}, {"apiextensions.k8s.io/v1", "CustomResourceDefinition", false},
		{"apiregistration.k8s.io/v1", "APIService", false}, {"certificates.k8s.io/v1", "CertificateSigningRequest", false},
		{"flowcontrol.apiserver.k8s.io/v1", "FlowSchema", false}, {"networking.k8s.io/v1", "IngressClass", false},
		{"node.k8s.io/v1", "RuntimeClass", false}, {"scheduling.k8s.io/v1", "PriorityClass", false}, {"storage.k8s.io/v1", "StorageClass", false},
	} {
		c := testCase{"overrides of a " + kind.kind + " of " + kind.version, fmt.Sprintf(
			"resourceSelectors: [{apiVersion: %s, kind: %s}]\noverrideRules: [{overriders: {labelsOverrider: [{operator: add, value: {team: a}}]}}]", kind.version, kind.kind), nil}
		if !kind.allowed {
			c.wrong = []string{"spec.resourceSelectors[0].kind"}
		}
		all = append(all, c)
	}
	for _, p := range paths {
		path, _ := json.Marshal(p.path) // It is YAML, too.
		for field, overrider := range map[string]string{
			"plaintext[0].path":                "plaintext: [{path: %s, operator: replace, value: {a: b}}]",
			"imageOverrider[0].predicate.path": "imageOverrider: [{component: Registry, operator: replace, value: x, predicate: {path: %s}}]",
			"fieldOverrider[0].fieldPath":      "fieldOverrider: [{fieldPath: %s, json: [{subPath: /a, operator: remove}]}]",
		} {
			c := testCase{fmt.Sprintf("%s at %s", field, path), one(fmt.Sprintf(overrider, path)), nil}
			if !p.allowed {
				c.wrong = []string{"spec.overrideRules[0].overriders." + field}
			}
			all = append(all, c)
		}
	}
	return all
}
