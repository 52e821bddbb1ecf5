package members

import (
	"context"
	"testing"

	"github.com/kairship-io/kairship/pkg/apierror"
	"github.com/kairship-io/kairship/pkg/fleet/write/writetest"
)

// refusing refuses what is expected, and counts how often it is asked.
type refusing struct{ asked int }

func (r *refusing) ExpectCordon(context.Context, string, string, string) error {
	r.asked++
	return apierror.New(apierror.CodeConflict, "no")
}

func (r *refusing) ExpectTaints(context.Context, string, string, []TaintInput, string) error {
	r.asked++
	return apierror.New(apierror.CodeConflict, "no")
}

// What is expected is checked before anything is written, and only when it is given.
func TestExpect(t *testing.T) {
	fingerprint := "a"
	for _, tt := range []struct {
		reason string
		do     func(s *Service) error
		code   apierror.Code
		asked  int
	}{
		{"cordoning, nothing expected", func(s *Service) error {
			_, err := s.Cordon(writetest.As(t.Context()), CordonInput{Instance: writetest.Name, Name: "m1"})
			return err
		}, "", 0},
		{"cordoning does something else", func(s *Service) error {
			_, err := s.Cordon(writetest.As(t.Context()), CordonInput{Instance: writetest.Name, Name: "m1", Expect: &fingerprint})
			return err
		}, apierror.CodeConflict, 1},
		{"taints do something else", func(s *Service) error {
			_, err := s.Update(writetest.As(t.Context()), UpdateInput{Instance: writetest.Name, Name: "m1", ResourceVersion: "101", Taints: []TaintInput{}, Expect: &fingerprint})
			return err
		}, apierror.CodeConflict, 1},
		{"a preview of no taints", func(s *Service) error {
			_, err := s.Update(writetest.As(t.Context()), UpdateInput{Instance: writetest.Name, Name: "m1", ResourceVersion: "101", Expect: &fingerprint})
			return err
		}, apierror.CodeInvalid, 0},
	} {
		i, s := newCluster(t)
		previews := &refusing{}
		s.Previews = previews
		err := tt.do(s)
		if (err == nil) != (tt.code == "") || err != nil && !apierror.Is(err, tt.code) || previews.asked != tt.asked {
			t.Errorf("%s: %v, asked %d times", tt.reason, err, previews.asked)
		}
		if (len(i.Sent) > 0) != (tt.code == "") {
			t.Errorf("%s: the instance was sent %v", tt.reason, i.Sent)
		}
	}
}
