package export

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/kairship-io/kairship/pkg/apierror"
)

// shop is a namespace, in the order of kinds.
const shop = `
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: web}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: kube-root-ca.crt}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: web, uid: u, resourceVersion: "7"}, data: {a: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: unrelated}}
---
{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: all}, spec: {overrideRules: []}}
---
{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: of-job}, spec: {resourceSelectors: [{apiVersion: batch/v1, kind: Job, name: once}]}}
---
{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: web}, spec: {conflictResolution: Abort, resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: web}]}}
---
{apiVersion: policy.karmada.io/v1alpha1, kind: PropagationPolicy, metadata: {name: jobs}, spec: {resourceSelectors: [{apiVersion: batch/v1, kind: Job}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {clusterIP: 10.0.0.1, selector: {app: web}, ports: [{port: 80, targetPort: 80, protocol: TCP}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: other}, spec: {selector: {app: other}}}
---
{apiVersion: v1, kind: Service, metadata: {name: external}, spec: {type: ExternalName}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, labels: {team: shop}}, spec: {template: {metadata: {labels: {app: web}}, spec: {serviceAccountName: web, containers: [
  {name: a, image: x, envFrom: [{configMapRef: {name: web}}, {secretRef: {name: web}}, {configMapRef: {name: gone}}]}]}}}, status: {replicas: 1}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: once, annotations: {clusterpropagationpolicy.karmada.io/name: everywhere}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: of-cron, ownerReferences: [{kind: CronJob, name: c, controller: true}]}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: web}, spec: {rules: [{http: {paths: [{backend: {service: {name: web}}}]}}]}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: other}, spec: {defaultBackend: {service: {name: other}}}}
`

func objects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for doc := range strings.SplitSeq(text, "\n---\n") {
		raw, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(raw, &u.Object); err != nil {
			t.Fatal(err)
		}
		out = append(out, u)
	}
	return out
}

func TestChoose(t *testing.T) {
	selector := "team=shop"
	web := []ObjectInput{{Kind: "Deployment", Name: "web"}}
	const application = "ServiceAccount/web ConfigMap/web OverridePolicy/all PropagationPolicy/web Service/web Deployment/web Ingress/web"
	for _, c := range []struct {
		in            Input
		want, omitted string
		why           string
	}{
		{Input{Objects: web, Dependencies: true, Policies: true}, application, "ConfigMap/gone Secret/web", "an application with all that it needs"},
		{Input{LabelSelector: &selector, Dependencies: true, Policies: true}, application, "ConfigMap/gone Secret/web", "the same by label"},
		{Input{Objects: web}, "Deployment/web", "", "the object alone"},
		{Input{Objects: web, Policies: true}, "OverridePolicy/all PropagationPolicy/web Deployment/web", "", "with its policies"},
		{
			Input{Objects: []ObjectInput{{Kind: "Job", Name: "once"}}, Dependencies: true, Policies: true},
			"OverridePolicy/all OverridePolicy/of-job PropagationPolicy/jobs Job/once", "ClusterPropagationPolicy/everywhere", "policies of all objects of a kind, and what is cluster-wide",
		},
		{
			Input{Dependencies: true, Policies: true},
			"ServiceAccount/web ConfigMap/web ConfigMap/unrelated OverridePolicy/all OverridePolicy/of-job PropagationPolicy/web PropagationPolicy/jobs " +
				"Service/web Service/other Service/external Deployment/web Job/once Ingress/web Ingress/other",
			"ConfigMap/gone Secret/web ClusterPropagationPolicy/everywhere", "the whole namespace but what Kubernetes and controllers make",
		},
	} {
		choice := choice{Input: c.in, selector: labels.Nothing()}
		if c.in.LabelSelector != nil {
			choice.selector, _ = labels.Parse(*c.in.LabelSelector)
		}
		chosen, omitted, err := choice.choose(objects(t, shop))
		if err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		var got, left []string
		for _, u := range chosen {
			got = append(got, u.GetKind()+"/"+u.GetName())
			if u.GetUID() != "" || u.GetResourceVersion() != "" || u.Object["status"] != nil {
				t.Errorf("%s: %s %s has what only the instance knows", c.why, u.GetKind(), u.GetName())
			}
		}
		for _, o := range omitted {
			left = append(left, o.Kind+"/"+o.Name)
		}
		if d := cmp.Diff([]string{c.want, c.omitted}, []string{strings.Join(got, " "), strings.Join(left, " ")}); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, d)
		}
	}
	missing := choice{Input: Input{Instance: "alpha", Objects: []ObjectInput{{Kind: "Deployment", Name: "none"}}}, selector: labels.Nothing()}
	if _, _, err := missing.choose(objects(t, shop)); !apierror.Is(err, apierror.CodeInvalid) {
		t.Errorf("an object that is not there: %v, want INVALID", err)
	}
}

func TestWithoutDefaults(t *testing.T) {
	for _, c := range []struct{ why, stored, want string }{
		{
			"what the API server fills in", `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 2, progressDeadlineSeconds: 600, revisionHistoryLimit: 10,
 strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}, template: {metadata: {creationTimestamp: null}, spec: {
 dnsPolicy: ClusterFirst, restartPolicy: Always, schedulerName: default-scheduler, terminationGracePeriodSeconds: 30, securityContext: {}, serviceAccount: s, serviceAccountName: s,
 volumes: [{name: v, configMap: {name: c, defaultMode: 420}}],
 containers: [{name: a, image: "r.example.com:5000/x", imagePullPolicy: Always, resources: {}, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File,
  ports: [{containerPort: 80, protocol: TCP}], livenessProbe: {httpGet: {path: /, port: 80, scheme: HTTP}, failureThreshold: 3, periodSeconds: 10, successThreshold: 1, timeoutSeconds: 1}}]}}}}`,
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 2, template: {spec: {serviceAccountName: s, volumes: [{name: v, configMap: {name: c}}],
 containers: [{name: a, image: "r.example.com:5000/x", ports: [{containerPort: 80}], livenessProbe: {httpGet: {path: /, port: 80}}}]}}}}`,
		},
		{
			"what people chose", `
{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {revisionHistoryLimit: 3, strategy: {type: Recreate}, template: {spec: {containers: [
 {name: a, image: "x:1", imagePullPolicy: Always, ports: [{containerPort: 53, protocol: UDP}]}, {name: b, image: "x@sha256:1", imagePullPolicy: IfNotPresent}]}}}}`,
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {revisionHistoryLimit: 3, strategy: {type: Recreate}, template: {spec: {containers: [
 {name: a, image: "x:1", imagePullPolicy: Always, ports: [{containerPort: 53, protocol: UDP}]}, {name: b, image: "x@sha256:1"}]}}}}`,
		},
		{
			"the pods of a CronJob", `
{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: "* * * * *", suspend: false, concurrencyPolicy: Allow, jobTemplate: {metadata: {creationTimestamp: null}, spec: {template: {spec: {restartPolicy: OnFailure, dnsPolicy: ClusterFirst}}}}}}`,
			`{apiVersion: batch/v1, kind: CronJob, metadata: {name: a}, spec: {schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: OnFailure}}}}}}`,
		},
		{
			"a Service", `{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: ClusterIP, ipFamilyPolicy: SingleStack, ipFamilies: [IPv4], internalTrafficPolicy: Cluster, sessionAffinity: None, ports: [{port: 80, targetPort: 80, protocol: TCP}, {port: 81, targetPort: web, protocol: TCP}]}}`,
			`{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}, {port: 81, targetPort: web}]}}`,
		},
		{
			"a Namespace", `{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {team: shop}}, spec: {finalizers: [kubernetes]}}`,
			`{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {team: shop}}}`,
		},
		{
			"a cluster-wide policy", `{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: a}, spec: {conflictResolution: Abort, preemption: Never, priority: 0, schedulerName: default-scheduler, resourceSelectors: [{apiVersion: v1, kind: Namespace}]}}`,
			`{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: a}, spec: {resourceSelectors: [{apiVersion: v1, kind: Namespace}]}}`,
		},
		{"a ConfigMap has none", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {type: Opaque}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {type: Opaque}}`},
	} {
		u := objects(t, c.stored)[0]
		withoutDefaults(u)
		if d := cmp.Diff(objects(t, c.want)[0].Object, u.Object); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, d)
		}
	}
}
