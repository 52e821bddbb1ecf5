package grpc

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/test/internal/fleet"
	"github.com/kairship-io/kairship/test/internal/gql"
)

// TestMatrix asks every operation that reads, as each person, by GraphQL and by gRPC.
func TestMatrix(t *testing.T) {
	f := fleet.Open(t)
	conn, values := dial(t, f), readVariables(t)
	asked := 0
	for _, op := range reads(t) {
		given := values.of(t, op)
		for _, person := range people {
			asked++
			code := compare(t, f, conn, op, person, given)
			switch {
			case person == "admin" && code != "" && !slices.Contains(values.Absent, op.Name):
				t.Errorf("admin gets %s of %s: the test asks for nothing that is there", code, op.Name)
			case person == "mallory" && code == "" && strings.Contains(op.Path, "{instance}") && !slices.Contains(values.OfTheCaller, op.Name):
				t.Errorf("mallory reads %s", op.Name)
			}
		}
	}
	if asked < 200 {
		t.Errorf("only %d questions were asked", asked)
	}
}

// compare asks both ways and returns the code of a refusal.
func compare(t *testing.T, f *fleet.Fleet, conn *grpc.ClientConn, op *operation.Operation, person string, given map[string]any) string {
	t.Helper()
	what := person + ": " + op.Name
	want := gql.New(f.KairshipURL, f.Token(t, person)).Must(t, gql.Request{Query: op.Document, OperationName: op.Name, Variables: given})
	text, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	request, answer := message(t, op.Name+"Request"), message(t, op.Name+"Response")
	if err := protojson.Unmarshal(text, request); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	err = conn.Invoke(t.Context(), service+op.Name, request, answer, as(t, f, person))
	object := op.Unwrap(want.Data)
	if err != nil {
		code := reasonOf(err).GetReason()
		switch {
		case object != nil:
			t.Errorf("%s: gRPC refuses with %v, GraphQL answers", what, err)
		case len(want.Errors) == 0 && code != "NOT_FOUND", len(want.Errors) > 0 && code != want.Errors[0].Extensions.Code:
			t.Errorf("%s: gRPC refuses with %v, GraphQL with %v", what, err, want.Errors)
		case len(want.Errors) > 0 && status.Convert(err).Message() != want.Errors[0].Message:
			t.Errorf("%s: gRPC says %q, GraphQL %q", what, status.Convert(err).Message(), want.Errors[0].Message)
		}
		return code
	}
	if object == nil {
		t.Errorf("%s: gRPC answers, GraphQL has %v", what, want.Errors)
		return ""
	}
	of := answer.ProtoReflect()
	result := of.Get(of.Descriptor().Fields().ByName("result")).Message().Interface()
	if diff := cmp.Diff(clean(t, object), clean(t, written(t, result))); diff != "" {
		t.Errorf("%s differs (-GraphQL +gRPC):\n%s", what, diff)
	}
	if n := of.Get(of.Descriptor().Fields().ByName("errors")).List().Len(); n != len(want.Errors) {
		t.Errorf("%s: gRPC has %d errors, GraphQL %d", what, n, len(want.Errors))
	}
	return ""
}

func written(t *testing.T, m protoreflect.ProtoMessage) []byte {
	t.Helper()
	text, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func reasonOf(err error) *errdetails.ErrorInfo {
	for _, detail := range status.Convert(err).Details() {
		if of, ok := detail.(*errdetails.ErrorInfo); ok {
			return of
		}
	}
	return nil
}

// differs are members that are another value from one moment to the next.
var differs = []string{"freshness", "observedAt", "lag", "endCursor", "traceId", "usage", "healthySeconds", "observedSeconds", "ratio", "to"}

// clean is a JSON text without what differs, and without what a message cannot have: null, and lists without values. Times
// and numbers of 64 bits have one form.
func clean(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return cleaned(v)
}

func cleaned(v any) any {
	switch v := v.(type) {
	case map[string]any:
		kept := map[string]any{}
		for name, value := range v {
			list, isList := value.([]any)
			if value == nil || isList && len(list) == 0 || slices.Contains(differs, name) {
				continue
			}
			kept[name] = cleaned(value)
		}
		return kept
	case []any:
		for i := range v {
			v[i] = cleaned(v[i])
		}
		return v
	case string:
		if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return at.UTC().Format(time.RFC3339Nano)
		}
		return v
	case float64:
		text, err := json.Marshal(v)
		if err != nil {
			return v
		}
		return string(text)
	default:
		return v
	}
}
