package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kairship-io/kairship/internal/poll"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// singular is a field that gives one object by its name.
type singular struct {
	// field as Type.field.
	field string
	// found are the arguments that lead to an object; A stands for the suite's
	// namespace of that name, ID for its ID.
	found map[string]string
	// missing is, for each argument, a value that leads nowhere.
	missing map[string]string
	// refused is, for each other argument, a value that is refused with INVALID, and at
	// which argument.
	refused map[string]refusal
	// typ is the type of what is found.
	typ string
}

// refusal is a value, and the argument that is at fault then.
type refusal struct{ value, at string }

// singulars are all fields that give one object by its name.
var singulars = []singular{
	{"Query.instance", map[string]string{"name": `"alpha"`}, map[string]string{"name": `"none-such"`}, nil, "Instance"},
	{"Query.cluster", map[string]string{"name": `"m1"`}, map[string]string{"name": `"none-such"`}, nil, "Cluster"},
	{"Instance.memberCluster", map[string]string{"name": `"m1"`}, map[string]string{"name": `"m3"`}, nil, "MemberCluster"},
	{"Instance.namespace", map[string]string{"name": `"A"`}, map[string]string{"name": `"none-such"`}, nil, "Namespace"},
	{
		"Instance.workload", map[string]string{"kind": "DEPLOYMENT", "namespace": `"A"`, "name": `"web-canary"`},
		map[string]string{"kind": "CRON_JOB", "namespace": `"none-such"`, "name": `"none-such"`}, nil, "Workload",
	},
	{
		"Instance.propagationPolicy", map[string]string{"namespace": `"A"`, "name": `"web"`},
		map[string]string{"namespace": `"none-such"`, "name": `"none-such"`}, nil, "PropagationPolicy",
	},
	{"Instance.clusterPropagationPolicy", map[string]string{"name": `"suite-ID-web"`}, map[string]string{"name": `"web"`}, nil, "ClusterPropagationPolicy"},
	{
		"Instance.overridePolicy", map[string]string{"namespace": `"A"`, "name": `"web"`},
		map[string]string{"namespace": `"none-such"`, "name": `"none-such"`}, nil, "OverridePolicy",
	},
	{"Instance.clusterOverridePolicy", map[string]string{"name": `"suite-ID-web"`}, map[string]string{"name": `"web"`}, nil, "ClusterOverridePolicy"},
	{
		"Instance.federatedHPA", map[string]string{"namespace": `"A"`, "name": `"web"`},
		map[string]string{"namespace": `"none-such"`, "name": `"none-such"`}, nil, "FederatedHPA",
	},
	{
		"Instance.cronFederatedHPA", map[string]string{"namespace": `"A"`, "name": `"web"`},
		map[string]string{"namespace": `"none-such"`, "name": `"none-such"`}, nil, "CronFederatedHPA",
	},
	{
		"Instance.multiClusterService", map[string]string{"namespace": `"A"`, "name": `"web"`},
		map[string]string{"namespace": `"none-such"`, "name": `"none-such"`}, nil, "MultiClusterService",
	},
	{
		"Instance.federatedResourceQuota", map[string]string{"namespace": `"A"`, "name": `"web"`},
		map[string]string{"namespace": `"none-such"`, "name": `"none-such"`}, nil, "FederatedResourceQuota",
	},
	{"Instance.workloadRebalancer", map[string]string{"name": `"suite-ID-web"`}, map[string]string{"name": `"web"`}, nil, "WorkloadRebalancer"},
	{
		"Instance.resource", map[string]string{"group": `""`, "version": `"v1"`, "resource": `"configmaps"`, "namespace": `"A"`, "name": `"one"`},
		map[string]string{"resource": `"secrets"`, "namespace": `"none-such"`, "name": `"none-such"`},
		map[string]refusal{"group": {`"apps"`, "resource"}, "version": {`"v2"`, "version"}, "resource": {`"nonesuch"`, "resource"}}, "Resource",
	},
}

// written replaces what tables write for the suite's namespace and ID.
func (w *world) written(text string) string {
	return strings.NewReplacer(`"A"`, `"`+w.a+`"`, "ID", w.id).Replace(text)
}

// query asks for the object, with one argument replaced; name is the object's.
func (s singular) query(w *world, argument, value string) (query, field, name string) {
	parent, field, _ := strings.Cut(s.field, ".")
	var passed []string
	for name, text := range s.found {
		if name == argument {
			text = value
		}
		passed = append(passed, name+": "+w.written(text))
	}
	name = strings.Trim(w.written(s.found["name"]), `"`)
	query = fmt.Sprintf("%s(%s) %s", field, strings.Join(passed, ", "), naming(s.typ))
	if parent == "Instance" {
		query = `instance(name: "alpha") { ` + query + " }"
	}
	return "{ " + query + " }", field, name
}

// TestEveryFieldForOneObject finds one object by its name, and null where any
// part of the name is another's.
func TestEveryFieldForOneObject(t *testing.T) {
	on := open(t)
	w := theWorld(t)
	for _, s := range singulars {
		t.Run(s.field, func(t *testing.T) {
			query, field, name := s.query(w, "", "")
			poll.Until(t, soon, "the object is found", func(ctx context.Context) error {
				raw, err := only(ctx, on, query, field)
				if err == nil && string(raw) == "null" {
					err = errors.New("it is null")
				}
				if err == nil && !strings.Contains(string(raw), `"name":"`+name+`"`) {
					err = fmt.Errorf("it is %s", raw)
				}
				return err
			})
			for argument, value := range s.missing {
				query, field, _ := s.query(w, argument, value)
				raw, err := only(t.Context(), on, query, field)
				if err != nil {
					t.Errorf("with another %s: %v", argument, err)
				} else if string(raw) != "null" {
					t.Errorf("with another %s it is %s, want null", argument, raw)
				}
			}
			for argument, wrong := range s.refused {
				query, _, _ := s.query(w, argument, wrong.value)
				r := on.kairship.Must(t, gql.Request{Query: query})
				if len(r.Errors) != 1 || r.Errors[0].Extensions.Code != "INVALID" || r.Errors[0].Extensions.Argument != wrong.at {
					t.Errorf("with another %s: got %s, want INVALID at %s", argument, r.Body, wrong.at)
				}
			}
		})
	}
}

// only is the value of the only field of an answer, below an instance or not.
func only(ctx context.Context, on *target, query, field string) (json.RawMessage, error) {
	data, _, err := gql.Query[map[string]json.RawMessage](ctx, on.kairship, query, nil)
	if err != nil {
		return nil, err
	}
	if raw, ok := data[field]; ok {
		return raw, nil
	}
	var inner map[string]json.RawMessage
	if err := json.Unmarshal(data["instance"], &inner); err != nil {
		return nil, err
	}
	return inner[field], nil
}

// TestPodsOfAnObject reads as many pods as are asked for, by name.
func TestPodsOfAnObject(t *testing.T) {
	on := open(t)
	type answer struct {
		Instance struct {
			Workload struct {
				Placements []struct {
					ClusterName string
					Object      struct{ All, First []struct{ Name string } }
				}
			}
		}
	}
	const query = `{ instance(name: "alpha") { workload(kind: DEPLOYMENT, namespace: "shop", name: "frontend") {
		placements { clusterName object { all: pods { name } first: pods(first: 2) { name } } } } } }`
	poll.Until(t, propagationTimeout, "m2 has three pods, of which two come first", func(ctx context.Context) error {
		data, _, err := gql.Query[answer](ctx, on.kairship, query, nil)
		if err != nil {
			return err
		}
		for _, p := range data.Instance.Workload.Placements {
			if p.ClusterName != "m2" {
				continue
			}
			o := p.Object
			if len(o.All) != 3 || len(o.First) != 2 || o.First[0] != o.All[0] || o.First[1] != o.All[1] || o.All[0].Name >= o.All[1].Name {
				return fmt.Errorf("all are %v, the first two are %v", o.All, o.First)
			}
			return nil
		}
		return errors.New("there is no placement on m2")
	})
}
