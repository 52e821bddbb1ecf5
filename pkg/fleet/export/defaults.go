package export

import (
	"cmp"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func compare(kindA, nameA, kindB, nameB string) int {
	return cmp.Or(cmp.Compare(kindA, kindB), cmp.Compare(nameA, nameB))
}

// fields are the values of an object, or of a part of it.
type fields = map[string]any

// defaults are what API servers fill in where nothing is given, by kind and field of the spec.
var defaults = map[string]fields{
	"Deployment": {
		"progressDeadlineSeconds": int64(600), "revisionHistoryLimit": int64(10),
		"strategy": fields{"type": "RollingUpdate", "rollingUpdate": fields{"maxSurge": "25%", "maxUnavailable": "25%"}},
	},
	"StatefulSet": {
		"podManagementPolicy": "OrderedReady", "revisionHistoryLimit": int64(10),
		"updateStrategy":                       fields{"type": "RollingUpdate", "rollingUpdate": fields{"partition": int64(0)}},
		"persistentVolumeClaimRetentionPolicy": fields{"whenDeleted": "Retain", "whenScaled": "Retain"},
	},
	"DaemonSet": {
		"revisionHistoryLimit": int64(10),
		"updateStrategy":       fields{"type": "RollingUpdate", "rollingUpdate": fields{"maxSurge": int64(0), "maxUnavailable": int64(1)}},
	},
	"Job": {
		"backoffLimit": int64(6), "completionMode": "NonIndexed", "suspend": false, "podReplacementPolicy": "TerminatingOrFailed", "manualSelector": false,
	},
	"CronJob": {
		"concurrencyPolicy": "Allow", "suspend": false, "successfulJobsHistoryLimit": int64(3), "failedJobsHistoryLimit": int64(1),
	},
	kindService: {
		"internalTrafficPolicy": "Cluster", "externalTrafficPolicy": "Cluster", "sessionAffinity": "None", "type": "ClusterIP",
	},
	"PersistentVolumeClaim": {"volumeMode": "Filesystem"},
	kindPropagation:         policyDefaults,
	kindWidePropagation:     policyDefaults,
	kindNamespace:           {"finalizers": []any{"kubernetes"}},
}

var policyDefaults = fields{"conflictResolution": "Abort", "preemption": "Never", "priority": int64(0), "schedulerName": "default-scheduler"}

var (
	podDefaults = fields{
		"dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": int64(30), "securityContext": fields{},
	}
	containerDefaults = fields{
		"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "resources": fields{},
	}
	probeDefaults = fields{
		"failureThreshold": int64(3), "periodSeconds": int64(10), "successThreshold": int64(1), "timeoutSeconds": int64(1),
	}
)

// withoutDefaults takes out of an object what the API server fills in again.
func withoutDefaults(u *unstructured.Unstructured) {
	spec, ok := u.Object["spec"].(fields)
	if !ok {
		if u.GetKind() == kindSecret {
			drop(u.Object, fields{"type": "Opaque"})
		}
		return
	}
	drop(spec, defaults[u.GetKind()])
	switch u.GetKind() {
	case kindService:
		service(spec)
	case kindNamespace:
		if len(spec) == 0 {
			delete(u.Object, "spec")
		}
	case "CronJob":
		if job, ok := spec["jobTemplate"].(fields); ok {
			metadata(job)
			if spec, ok := job["spec"].(fields); ok {
				template(spec, "OnFailure")
			}
		}
	default:
		template(spec, "Always")
	}
}

// service is about the spec of a Service.
func service(spec fields) {
	if spec["ipFamilyPolicy"] == "SingleStack" {
		delete(spec, "ipFamilyPolicy")
		delete(spec, "ipFamilies") // Which one it is depends on the cluster.
	}
	each(spec, "ports", func(port fields) {
		drop(port, fields{"protocol": "TCP", "targetPort": port["port"]})
	})
}

// template is about the template of pods in a spec. Jobs have no default of the restart policy.
func template(spec fields, restart string) {
	pods, ok := spec["template"].(fields)
	if !ok {
		return
	}
	metadata(pods)
	pod, ok := pods["spec"].(fields)
	if !ok {
		return
	}
	drop(pod, podDefaults)
	if restart == "Always" {
		drop(pod, fields{"restartPolicy": restart})
	}
	if pod["serviceAccount"] == pod["serviceAccountName"] {
		delete(pod, "serviceAccount") // The old name of the same field.
	}
	for _, list := range []string{"initContainers", "containers"} {
		each(pod, list, container)
	}
	each(pod, "volumes", func(volume fields) {
		for _, source := range []string{"configMap", "secret", "downwardAPI", "projected"} {
			if of, ok := volume[source].(fields); ok {
				drop(of, fields{"defaultMode": int64(420)})
			}
		}
	})
}

func container(c fields) {
	drop(c, containerDefaults)
	image, _ := c["image"].(string)
	drop(c, fields{"imagePullPolicy": pullPolicy(image)})
	each(c, "ports", func(port fields) { drop(port, fields{"protocol": "TCP"}) })
	for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		if p, ok := c[probe].(fields); ok {
			drop(p, probeDefaults)
			if get, ok := p["httpGet"].(fields); ok {
				drop(get, fields{"scheme": "HTTP"})
			}
		}
	}
}

// pullPolicy is the default for an image.
func pullPolicy(image string) string {
	_, digest, _ := strings.Cut(image, "@")
	name := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(name, ":")
	if digest == "" && (tag == "" || tag == "latest") {
		return "Always"
	}
	return "IfNotPresent"
}

// metadata takes an empty time of creation out of a template's metadata.
func metadata(of fields) {
	if m, ok := of["metadata"].(fields); ok {
		delete(m, "creationTimestamp")
		if len(m) == 0 {
			delete(of, "metadata")
		}
	}
}

// drop deletes the fields that have these values.
func drop(from, values fields) {
	for name, value := range values {
		if has, ok := from[name]; ok && reflect.DeepEqual(has, value) {
			delete(from, name)
		}
	}
}

// each calls a function with every object of a list.
func each(of fields, list string, do func(fields)) {
	items, _ := of[list].([]any)
	for _, item := range items {
		if object, ok := item.(fields); ok {
			do(object)
		}
	}
}
