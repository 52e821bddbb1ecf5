package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	pediav1alpha2 "github.com/kairship-io/kairship/pkg/apis/clusterpedia/v1alpha2"
)

// clusterOfRow is the annotation in which the index says where it has an object from.
const clusterOfRow = "shadow.clusterpedia.io/cluster-name"

// rows are the objects in the index, asked of Clusterpedia itself, by cluster.
// All clusters are asked for at once: rows that were left behind are found also
// when Clusterpedia no longer knows their cluster.
func (s *scene) rows(ctx context.Context, t *testing.T, kinds []string) (map[string]map[string]bool, error) {
	raw, err := s.Kubernetes(t, "global").CoreV1().RESTClient().Get().
		AbsPath("/apis/clusterpedia.io/v1beta1/collectionresources/any").
		Param("resources", strings.Join(kinds, ",")).Param("onlyMetadata", "true").
		Do(ctx).Raw()
	if err != nil {
		return nil, fmt.Errorf("asking the index: %w", err)
	}
	var list struct {
		Items []struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Namespace   string            `json:"namespace"`
				Name        string            `json:"name"`
				UID         string            `json:"uid"`
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
		} `json:"items"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	found := map[string]map[string]bool{}
	for _, o := range list.Items {
		cluster := o.Metadata.Annotations[clusterOfRow]
		if cluster == "" {
			return nil, fmt.Errorf("a row does not say where it is from: %s %s/%s", o.Kind, o.Metadata.Namespace, o.Metadata.Name)
		}
		if found[cluster] == nil {
			found[cluster] = map[string]bool{}
		}
		found[cluster][o.Metadata.UID] = true
	}
	return found, nil
}

// kindsInIndex are all kinds that any cluster is collected for. Events come and
// are removed automatically, and are left out.
func (s *scene) kindsInIndex(ctx context.Context, t *testing.T) []string {
	t.Helper()
	var pedias pediav1alpha2.PediaClusterList
	if err := s.Client(t, "global").List(ctx, &pedias); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for i := range pedias.Items {
		for _, group := range pedias.Items[i].Spec.SyncResources {
			for _, resource := range group.Resources {
				if resource != "events" {
					kinds = append(kinds, group.Group+"/"+resource)
				}
			}
		}
	}
	slices.Sort(kinds)
	if kinds = slices.Compact(kinds); len(kinds) < 10 {
		t.Fatalf("only %q are collected", kinds)
	}
	return kinds
}

// gone reports whether an object is not there.
func gone(ctx context.Context, c client.Client, o client.Object) error {
	err := c.Get(ctx, client.ObjectKeyFromObject(o), o)
	if err == nil {
		return fmt.Errorf("%T %s is still there (finalizers %q)", o, o.GetName(), o.GetFinalizers())
	}
	return client.IgnoreNotFound(err)
}
