package truth

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/kairship-io/kairship/test/internal/gql"
)

const (
	freshnessFields = `fragment F on Freshness { source observedAt lag stale message }`
	workloadFields  = `fragment W on Workload {
	instance { name } kind name resourceVersion health replicas { desired ready }
	freshness { ...F }
	placements { clusterName scheduled desired ready object { resourceVersion freshness { ...F } } }
}`
	listQuery = `query List($namespace: [String!], $health: [WorkloadHealth!]) {
	workloads(first: 100, filter: {namespaces: $namespace, health: $health}) { freshness { ...F } nodes { ...W } }
}
` + workloadFields + "\n" + freshnessFields
	getQuery = `query Get($instance: String!, $kind: WorkloadKind!, $namespace: String!, $name: String!) {
	instance(name: $instance) { workload(kind: $kind, namespace: $namespace, name: $name) { ...W } }
}
` + workloadFields + "\n" + freshnessFields
	// An event carries no objects of the members, which it would have to read.
	changedQuery = `subscription Changed($namespace: [String!], $after: String) {
	workloadChanged(filter: {namespaces: $namespace}, after: $after) {
		type cursor
		workload { instance { name } kind name resourceVersion health replicas { desired ready } placements { clusterName scheduled desired ready } }
	}
}`
	progressQuery = `subscription Progress($operation: ID!) { operationProgress(operation: $operation) { state reason } }`
)

// answerWithin bounds how long an answer may take before the observer asks again.
const answerWithin = 10 * time.Second

// observer asks Kairship and records what it claims.
type observer struct {
	api       *gql.Client
	namespace string
	instances []string
	history   *history
	// background are the operations that are followed.
	background sync.WaitGroup
}

// every asks again and again, with a pause between an answer and the next request.
func every(ctx context.Context, pause time.Duration, ask func(context.Context)) {
	for ctx.Err() == nil {
		limited, done := context.WithTimeout(ctx, answerWithin)
		ask(limited)
		done()
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// list asks for all workloads, or for those of a health.
func (o *observer) list(ctx context.Context, health ...string) {
	by := "list"
	variables := map[string]any{"namespace": []string{o.namespace}}
	if len(health) > 0 {
		by, variables["health"] = "list by health", health
	}
	at := interval{sent: time.Now()}
	data, _, err := gql.Query[struct {
		Workloads struct {
			Freshness freshness
			Nodes     []*workloadAnswer
		}
	}](ctx, o.api, listQuery, variables)
	if err != nil {
		o.fail(ctx, by, err)
		return
	}
	at.received = time.Now()
	o.history.age(by+": freshness of the list", at, data.Workloads.Freshness, o.instances...)
	for _, w := range data.Workloads.Nodes {
		o.history.answer(by, at, w, 0)
	}
	if len(health) == 0 {
		o.history.keep(by, data.Workloads.Nodes)
	}
}

// get asks for a workload, with the consistency token of a write and the revision of that.
func (o *observer) get(ctx context.Context, w workloadKey, token string, written int64) {
	const by = "get with a token"
	ctx, done := context.WithTimeout(ctx, answerWithin)
	defer done()
	api := *o.api
	api.Consistency = token
	kind := ""
	for name, of := range kinds {
		if of == w.Kind {
			kind = name
		}
	}
	at := interval{sent: time.Now()}
	data, _, err := gql.Query[struct {
		Instance *struct{ Workload *workloadAnswer }
	}](ctx, &api, getQuery, map[string]any{"instance": w.Instance, "kind": kind, "namespace": o.namespace, "name": w.Name})
	if err != nil {
		o.fail(ctx, by, err)
		return
	}
	at.received = time.Now()
	if data.Instance == nil || data.Instance.Workload == nil {
		o.history.failed(by + ": there is none")
		return
	}
	o.history.answer(by, at, data.Instance.Workload, written)
}

// follow subscribes to all workloads until the context ends, and resumes when the stream ends.
func (o *observer) follow(ctx context.Context) {
	const by = "subscription"
	cursor := ""
	for ctx.Err() == nil {
		variables := map[string]any{"namespace": []string{o.namespace}}
		if cursor != "" {
			variables["after"] = cursor
		}
		stream, refused, err := o.api.Subscribe(ctx, gql.Request{Query: changedQuery, Variables: variables})
		if err != nil || refused != nil {
			time.Sleep(100 * time.Millisecond)
			continue
		}
		for ctx.Err() == nil {
			e := stream.Next(time.Second)
			if e == nil {
				continue
			}
			if e.Complete || e.Lost != nil || len(e.Errors) > 0 {
				o.history.failed("subscription ended")
				break
			}
			cursor = o.event(by, e.Data, cursor)
		}
		stream.Close()
	}
}

// event records an event and gives its cursor.
func (o *observer) event(by string, data json.RawMessage, cursor string) string {
	received := time.Now()
	var of struct {
		WorkloadChanged struct {
			Type     string          `json:"type"`
			Cursor   string          `json:"cursor"`
			Workload *workloadAnswer `json:"workload"`
		} `json:"workloadChanged"`
	}
	if err := json.Unmarshal(data, &of); err != nil {
		panic(err)
	}
	e := of.WorkloadChanged
	switch {
	case e.Type == "GAP":
		o.history.keep(by, nil)
	case e.Workload != nil && e.Type == "DELETED":
		o.history.gone(by, e.Workload.key())
	case e.Workload != nil:
		o.history.event(by, received, e.Workload)
	}
	if e.Cursor != "" {
		cursor = e.Cursor
	}
	return cursor
}

// progress follows an operation in the background until it is over.
func (o *observer) progress(ctx context.Context, by, operation string, w workloadKey, version, written int64) {
	o.background.Go(func() {
		ctx, done := context.WithTimeout(ctx, 2*time.Minute)
		defer done()
		for ctx.Err() == nil {
			stream, refused, err := o.api.Subscribe(ctx, gql.Request{Query: progressQuery, Variables: map[string]any{"operation": operation}})
			if err != nil || refused != nil {
				time.Sleep(100 * time.Millisecond)
				continue
			}
			over := o.state(ctx, stream, by, w, version, written)
			stream.Close()
			if over {
				return
			}
		}
		o.history.failed("no end of " + by + " of " + w.String())
	})
}

// state reads the progress of an operation; over is false when the stream ended before the operation.
func (o *observer) state(ctx context.Context, stream *gql.Stream, by string, w workloadKey, version, written int64) (over bool) {
	for ctx.Err() == nil {
		e := stream.Next(time.Second)
		if e == nil {
			continue
		}
		if e.Complete || e.Lost != nil || len(e.Errors) > 0 {
			return false
		}
		var of struct {
			OperationProgress struct {
				State  string  `json:"state"`
				Reason *string `json:"reason"`
			} `json:"operationProgress"`
		}
		if err := json.Unmarshal(e.Data, &of); err != nil {
			panic(err)
		}
		switch p := of.OperationProgress; p.State {
		case succeeded:
			o.history.success(by, time.Now(), w, version, written)
			return true
		case "FAILED":
			o.history.failed(fmt.Sprintf("operation FAILED, %s", text(p.Reason)))
			return true
		}
	}
	return false
}

// fail counts an answer that is an error, unless the run is over.
func (o *observer) fail(ctx context.Context, by string, err error) {
	if ctx.Err() == nil {
		o.history.failed(by + ": " + firstWords(err))
	}
}

func firstWords(err error) string {
	text := []rune(err.Error())
	return string(text[:min(len(text), 60)])
}

// keep forgets the answers to a query about all workloads but these.
func (j *history) keep(by string, nodes []*workloadAnswer) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for key := range j.last[by] {
		if !slices.ContainsFunc(nodes, func(w *workloadAnswer) bool { return w.key() == key }) {
			delete(j.last[by], key)
		}
	}
}
