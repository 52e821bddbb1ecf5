package resolvers

import (
	"context"
	"log/slog"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"github.com/kairship-io/kairship/pkg/fleet/workload"
	"github.com/kairship-io/kairship/pkg/fleet/write"
	"github.com/kairship-io/kairship/pkg/projection"
)

// RecordMutations returns what goes around each mutation and adds to the activity what it does or is refused, where
// the writes in it do not; nil without a recorder.
func RecordMutations(recorder *write.Recorder, logger *slog.Logger) graphql.FieldMiddleware {
	if recorder == nil {
		return nil
	}
	return func(ctx context.Context, next graphql.Resolver) (any, error) {
		fc := graphql.GetFieldContext(ctx)
		// The input as it was sent: what it was decoded into is the type of each service.
		input, _ := fc.Field.ArgumentMap(graphql.GetOperationContext(ctx).Variables)["input"].(map[string]any)
		if dry, _ := input["dryRun"].(bool); dry {
			return next(ctx)
		}
		ctx, m := write.BeginMutation(ctx, fc.Field.Name)
		asked := askedOf(fc.Field.Name, input)
		uid := ""
		if asked.Instance != "" {
			uid = recorder.InstanceUID(ctx, asked.Instance)
		}
		result, failed := next(ctx)
		if asked.Instance == "" && asked.Name == "" {
			return result, failed // It is about several objects, of which each write is in the activity.
		}
		if err := recorder.EndMutation(ctx, m, uid, asked, failed); err != nil {
			logger.WarnContext(ctx, "a mutation is not in the activity", "error", err)
		}
		return result, failed
	}
}

// askedOf is what a mutation is about, as its input names it.
func askedOf(mutation string, input map[string]any) *projection.Activity {
	text := func(names ...string) string {
		for _, name := range names {
			if value, _ := input[name].(string); value != "" {
				return value
			}
		}
		return ""
	}
	a := &projection.Activity{
		Instance: text("instance"), Namespace: text("namespace"), Name: text("name", "cluster", "binding", "subject"), Group: text("group"), Verb: verbOf(mutation),
	}
	switch kind := workload.Kind(text("kind")); {
	case kind.Valid():
		gvk := kind.GVK()
		a.Kind, a.Group = gvk.Kind, gvk.Group
	case text("resource") != "":
		a.Kind = text("resource")
	default:
		a.Kind, a.Group = kindInName(mutation)
	}
	switch a.Kind {
	case "Instance":
		a.Name = a.Instance
	case "Namespace":
		a.Namespace = a.Name
	}
	return a
}

// verbOf is the verb of a mutation, by the first word of its name.
func verbOf(mutation string) projection.ActivityVerb {
	for _, of := range []struct {
		words string
		verb  projection.ActivityVerb
	}{
		{"create register grant trigger promote", projection.ActivityCreate},
		{"delete revoke remove", projection.ActivityDelete},
		{"apply deploy", projection.ActivityApply},
	} {
		for word := range strings.FieldsSeq(of.words) {
			if strings.HasPrefix(mutation, word) {
				return of.verb
			}
		}
	}
	return projection.ActivityUpdate
}

// kindInName is the kind and group that the name of a mutation ends with; empty for one that is about several.
func kindInName(mutation string) (kind, group string) {
	const policies = "policy.karmada.io"
	for _, of := range []struct{ suffix, kind, group string }{
		{"InstanceRole", projection.KindRoleBinding, "kairship.io"},
		{"Instance", "Instance", "kairship.io"},
		{"ClusterPropagationPolicy", "ClusterPropagationPolicy", policies},
		{"PropagationPolicy", "PropagationPolicy", policies},
		{"ClusterOverridePolicy", "ClusterOverridePolicy", policies},
		{"OverridePolicy", "OverridePolicy", policies},
		{"Namespace", "Namespace", ""},
		{"MemberCluster", "Cluster", "cluster.karmada.io"},
		{"Cluster", "Cluster", "kairship.io"},
		{"CronJob", "CronJob", "batch"},
		{"Service", "Service", ""},
	} {
		if strings.HasSuffix(mutation, of.suffix) {
			return of.kind, of.group
		}
	}
	return "", ""
}
