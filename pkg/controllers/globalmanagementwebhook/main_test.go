package globalmanagementwebhook

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kairship-io/kairship/pkg/apis/apitest"
	gm "github.com/kairship-io/kairship/pkg/globalmanagement"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
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
