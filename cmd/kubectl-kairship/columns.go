package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// column is one of a table.
type column struct {
	header string
	// paths lead to its value; the first that has one counts. A path ends at a list with its values.
	paths []string
	// wide columns are shown with -o wide alone.
	wide bool
	// age is a time that is shown as its distance from now.
	age bool
}

// where are the columns of every noun, which are left out where no object has a value.
var where = []column{
	{header: "INSTANCE", paths: []string{"instance.name", "instanceName"}},
	{header: "CLUSTER", paths: []string{"clusterName", "memberCluster.name"}},
	{header: "NAMESPACE", paths: []string{"namespace"}},
	{header: "KIND", paths: []string{"kind"}},
	{header: "NAME", paths: []string{"name", "reference"}},
}

// what are the columns that say how objects are; each is shown where an object has a value.
var what = []column{
	{header: "READY", paths: []string{"replicas.ready", "ready"}},
	{header: "DESIRED", paths: []string{"replicas.desired"}},
	{header: "STATE", paths: []string{"state", "phase"}},
	{header: "HEALTH", paths: []string{"health"}},
	{header: "RESTARTS", paths: []string{"restarts"}},
	{header: "VERSION", paths: []string{"karmadaVersion", "kubernetesVersion"}},
	{header: "MODE", paths: []string{"syncMode", "mode"}},
	{header: "TYPE", paths: []string{"type"}},
	{header: "ROLE", paths: []string{"role"}},
	{header: "SUBJECT", paths: []string{"subject"}},
	{header: "USER", paths: []string{"user"}},
	{header: "VERB", paths: []string{"verb"}},
	{header: "OUTCOME", paths: []string{"outcome"}},
	{header: "WORKLOADS", paths: []string{"workloadCount"}},
	{header: "PODS", paths: []string{"podCount"}},
	{header: "POLICY", paths: []string{"policy.name"}, wide: true},
	{header: "NODE", paths: []string{"nodeName"}, wide: true},
	{header: "IP", paths: []string{"podIP"}, wide: true},
	{header: "PROVIDER", paths: []string{"provider"}, wide: true},
	{header: "REGION", paths: []string{"region"}, wide: true},
	{header: "IMAGES", paths: []string{"images"}, wide: true},
	{header: "MESSAGE", paths: []string{"healthMessage", "message"}, wide: true},
	{header: "AGE", paths: []string{"createdAt", "at"}, age: true},
}

// value is the text of a column for an object; empty for none.
func (c column) value(of object, now time.Time) string {
	for _, path := range c.paths {
		text := textAt(of, strings.Split(path, "."))
		if text == "" {
			continue
		}
		if at, err := time.Parse(time.RFC3339Nano, text); c.age && err == nil {
			return duration.HumanDuration(now.Sub(at))
		}
		return text
	}
	return ""
}

// textAt is the text of the value that a path leads to.
func textAt(value any, path []string) string {
	for _, name := range path {
		members, ok := value.(map[string]any)
		if !ok {
			return ""
		}
		value = members[name]
	}
	switch v := value.(type) {
	case nil, map[string]any:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		var parts []string
		for _, element := range v {
			if _, isObject := element.(map[string]any); isObject {
				return ""
			}
			parts = append(parts, fmt.Sprint(element))
		}
		return strings.Join(parts, ",")
	default:
		return fmt.Sprint(v)
	}
}
