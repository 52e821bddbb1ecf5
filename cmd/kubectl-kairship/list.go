package main

import (
	"context"
	"encoding/json"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kairship-io/kairship/api/v1/kairshipv1"
	"github.com/kairship-io/kairship/pkg/client"
)

// pageSize is how many objects are read at once: as many as the API lets.
const pageSize = 500

// query is what is listed.
type query struct {
	noun      noun
	instance  string
	cluster   string
	namespace string
	names     []string
	selector  string
}

// object is one that was listed, as JSON has it.
type object = map[string]any

// list reads all pages of all instances, and what is missing.
func (o *options) list(ctx context.Context, q query) (objects []object, missing []*kairshipv1.Failure, err error) {
	config, err := o.config()
	if err != nil {
		return nil, nil, err
	}
	invoker, err := client.NewInvoker(config)
	if err != nil {
		return nil, nil, err
	}
	places, err := o.placesOf(ctx, invoker, q)
	if err != nil {
		return nil, nil, err
	}
	for _, at := range places {
		of := q
		of.instance, of.cluster = at.instance, at.cluster
		found, failed, err := pages(ctx, invoker, of)
		if err != nil {
			return nil, nil, err
		}
		objects, missing = append(objects, found...), append(missing, failed...)
	}
	return objects, missing, nil
}

// at is where a list is read: everywhere, in an instance, or in a member cluster.
type at struct{ instance, cluster string }

// placesOf are where a noun is listed: a list of one instance or one member cluster is read in each.
func (o *options) placesOf(ctx context.Context, invoker *client.Invoker, q query) (places []at, err error) {
	if !single(q.noun.method, "instance") {
		return []at{{instance: q.instance}}, nil
	}
	instances := []string{q.instance}
	if q.instance == "" {
		if instances, err = o.instances(ctx); err != nil {
			return nil, err
		}
	}
	for _, instance := range instances {
		if !single(q.noun.method, "cluster") {
			places = append(places, at{instance: instance})
			continue
		}
		members, err := findNoun("memberclusters")
		if err != nil {
			return nil, err
		}
		clusters, _, err := pages(ctx, invoker, query{noun: members, instance: instance})
		if err != nil {
			return nil, err
		}
		for _, cluster := range clusters {
			places = append(places, at{instance, textAt(cluster, []string{"name"})})
		}
	}
	return places, nil
}

// instances are the names of those that the caller sees.
func (o *options) instances(ctx context.Context) ([]string, error) {
	api, err := o.api()
	if err != nil {
		return nil, err
	}
	var names []string
	request := &kairshipv1.ListInstancesRequest{First: new(int32(pageSize))}
	for {
		answer, err := api.ListInstances(ctx, connect.NewRequest(request))
		if err != nil {
			return nil, err
		}
		for _, instance := range answer.Msg.GetResult().GetNodes() {
			names = append(names, instance.GetName())
		}
		page := answer.Msg.GetResult().GetPageInfo()
		if !page.GetHasNextPage() {
			return names, nil
		}
		request.After = page.EndCursor
	}
}

// pages reads one list to its end.
func pages(ctx context.Context, invoker *client.Invoker, q query) (objects []object, missing []*kairshipv1.Failure, err error) {
	request, err := client.NewMessage(q.noun.method.Input())
	if err != nil {
		return nil, nil, err
	}
	setText(request, "instance", q.instance)
	setText(request, "cluster", q.cluster)
	setList(request, "instances", q.instance)
	setList(request, "namespaces", q.namespace)
	setList(request, "name", q.names...)
	setText(request, "label_selector", q.selector)
	if q.noun.resource != nil {
		setText(request, "group", q.noun.resource.Group)
		setText(request, "version", q.noun.resource.Version)
		setText(request, "resource", q.noun.resource.Resource)
		setText(request, "namespace", q.namespace)
	}
	if first := request.ProtoReflect().Descriptor().Fields().ByName("first"); first != nil {
		request.ProtoReflect().Set(first, protoreflect.ValueOfInt32(pageSize))
	}
	for {
		answer, err := invoker.Invoke(ctx, q.noun.method, request)
		if err != nil {
			return nil, nil, err
		}
		text, err := protojson.Marshal(answer)
		if err != nil {
			return nil, nil, err
		}
		var page struct {
			Result struct {
				Nodes    []object `json:"nodes"`
				PageInfo struct {
					HasNextPage bool   `json:"hasNextPage"`
					EndCursor   string `json:"endCursor"`
				} `json:"pageInfo"`
			} `json:"result"`
		}
		if err := json.Unmarshal(text, &page); err != nil {
			return nil, nil, err
		}
		for _, node := range page.Result.Nodes {
			if q.instance != "" && node["instance"] == nil && node["instanceName"] == nil {
				node["instanceName"] = q.instance // It was listed there.
			}
			if q.cluster != "" && node["clusterName"] == nil {
				node["clusterName"] = q.cluster
			}
			objects = append(objects, node)
		}
		if failed, ok := answer.(interface{ GetErrors() []*kairshipv1.Failure }); ok {
			missing = append(missing, failed.GetErrors()...)
		}
		if !page.Result.PageInfo.HasNextPage {
			return objects, missing, nil
		}
		setText(request, "after", page.Result.PageInfo.EndCursor)
	}
}

func has(method protoreflect.MethodDescriptor, field protoreflect.Name) bool {
	return method.Input().Fields().ByName(field) != nil
}

// setText sets a field of a request that has it, unless the value is empty.
func setText(m proto.Message, name protoreflect.Name, value string) {
	of := m.ProtoReflect()
	if field := of.Descriptor().Fields().ByName(name); field != nil && !field.IsList() && value != "" {
		of.Set(field, protoreflect.ValueOfString(value))
	}
}

// setList sets a list of a request that has it, of the values that are not empty.
func setList(m proto.Message, name protoreflect.Name, values ...string) {
	of := m.ProtoReflect()
	field := of.Descriptor().Fields().ByName(name)
	if field == nil || !field.IsList() {
		return
	}
	list := of.Mutable(field).List()
	for _, value := range values {
		if value != "" {
			list.Append(protoreflect.ValueOfString(value))
		}
	}
}
