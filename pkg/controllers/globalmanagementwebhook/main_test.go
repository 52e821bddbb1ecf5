package globalmanagementwebhook

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	flag.Parse()
	if flag.Lookup("test.fuzz").Value.String() != "" {
		// Fuzzing runs in many processes, which need no apiserver each.
		os.Exit(m.Run())
	}
	os.Exit(apitest.Run(m))
}

// roundTrip writes an event as a client does, and reads it.
func roundTrip(event gm.Event) (gm.Event, error) {
	body, err := json.Marshal(event)
	if err != nil {
		return gm.Event{}, err
	}
	var again gm.Event
	err = decode(body, &again)
	return again, err
}
