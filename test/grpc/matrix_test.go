package grpc

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kairship-io/kairship/graph/operation"
	"github.com/kairship-io/kairship/test/internal/fleet"
)

// TestMatrix asks every operation that reads, as each person, by GraphQL and by gRPC.
func TestMatrix(t *testing.T) {
	f := fleet.Open(t)
	values := readVariables(t)
	ways := map[string]way{byGraphQL: graphQL(f), byGRPC: gRPC(f, dial(t, f))}
	asked := 0
	for _, op := range reads(t) {
		given := values.of(t, op)
		for _, person := range people {
			asked++
			code := compare(t, op, person, given, ways).Code
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

// compare asks by GraphQL and by other ways, and returns what GraphQL answers.
func compare(t *testing.T, op *operation.Operation, person string, given map[string]any, ways map[string]way) outcome {
	t.Helper()
	return alike(t, op, person, ask(t, op, person, given, ways))
}

// ask returns what each way answers.
func ask(t *testing.T, op *operation.Operation, person string, given map[string]any, ways map[string]way) map[string]outcome {
	t.Helper()
	got := make(map[string]outcome, len(ways))
	for name, by := range ways {
		got[name] = by(t, op, person, given)
	}
	return got
}

// alike checks that all ways answer what GraphQL does, and returns that.
func alike(t *testing.T, op *operation.Operation, person string, answers map[string]outcome) outcome {
	t.Helper()
	want := answers[byGraphQL]
	for name, got := range answers {
		if got.Code == notFound && want.Code == notFound && want.Message == "" {
			got.Message = ""
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreMapEntries(func(name string, _ any) bool {
			// A dry run makes an object anew, with a label of its own on some.
			return !op.Reads() && op.Method == http.MethodPost && (name == "createdAt" || name == "labels")
		})); diff != "" {
			t.Errorf("%s: %s differs (-GraphQL +%s):\n%s", person, op.Name, name, diff)
		}
	}
	return want
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
func clean(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return cleaned(v).(map[string]any)
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
