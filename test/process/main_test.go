// Package process tests what an administrator does to Kairship's processes: to give them
// settings, to replace the files that they read, to stop them.
package process

import (
	"context"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/kairship-io/kairship/test/internal/fleet"
)

func TestMain(m *testing.M) { os.Exit(fleet.Main(m)) }

// readiness is the HTTP status of /readyz.
func readiness(ctx context.Context, address string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, response.Body.Close()
}
