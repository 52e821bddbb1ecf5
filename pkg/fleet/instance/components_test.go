package instance_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
	"github.com/kairship-io/kairship/pkg/fleet/instance"
)

// fill gives every field a value, so that a field which is added, and which
// gets lost on the way, shows.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[metav1.Duration]() {
			v.Set(reflect.ValueOf(metav1.Duration{Duration: 90 * time.Second}))
			return
		}
		for _, field := range v.Fields() {
			fill(t, field)
		}
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32:
		v.SetInt(3)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fill(t, value)
		v.SetMapIndex(reflect.ValueOf("Key"), value)
	default:
		t.Fatalf("no value for a %s", v.Type())
	}
}

func TestComponentsLoseNothing(t *testing.T) {
	var want v1alpha1.InstanceComponents
	fill(t, reflect.ValueOf(&want).Elem())
	got, err := instance.ComponentsOf(&want).Settings("input.components")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("settings that were read and written again (-want +got):\n%s", diff)
	}
	if none, err := instance.ComponentsOf(nil).Settings(""); none != nil || err != nil {
		t.Errorf("no settings became %v, %v", none, err)
	}
}

func TestComponentsName(t *testing.T) {
	soon := "soon"
	for _, c := range []struct {
		reason     string
		components instance.Components
		argument   string
	}{
		{"a duration that is none", instance.Components{Failover: &instance.Failover{ClusterMonitorPeriod: &soon}}, "input.components.failover.clusterMonitorPeriod"},
		{"a duration of the descheduler", instance.Components{Descheduler: &instance.Descheduler{Interval: &soon}}, "input.components.descheduler.interval"},
		{"a flag that is there twice", instance.Components{Webhook: &instance.Component{Process: instance.Process{ExtraArgs: []instance.Argument{{Name: "v", Value: "2"}, {Name: "v", Value: "4"}}}}}, "input.components.webhook.extraArgs"},
		{"a gate that is on and off", instance.Components{FeatureGates: []instance.FeatureGate{{Name: "A"}, {Name: "A", Enabled: true}}}, "input.components.featureGates"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			_, err := c.components.Settings("input.components")
			if !apierror.Is(err, apierror.CodeInvalid) {
				t.Fatalf("got %v, want INVALID", err)
			}
			var e *apierror.Error
			if e, _ = err.(*apierror.Error); e == nil || e.Argument != c.argument { //nolint:errorlint // It is not wrapped.
				t.Errorf("the error is about %+v, want %s", e, c.argument)
			}
		})
	}
}
