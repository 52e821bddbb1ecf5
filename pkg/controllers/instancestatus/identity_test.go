package instancestatus

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kairship-io/kairship/pkg/apis/kairship/v1alpha1"
)

func TestRecord(t *testing.T) {
	cp := func(id string, claim v1alpha1.ControlPlaneClaim, by string) *v1alpha1.InstanceControlPlane {
		return &v1alpha1.InstanceControlPlane{KubeSystemID: id, Claim: claim, CredentialsFingerprint: by}
	}
	const held, pending, duplicate = v1alpha1.ClaimHeld, v1alpha1.ClaimPending, v1alpha1.ClaimDuplicate
	const external, managed = v1alpha1.InstanceModeExternal, v1alpha1.InstanceModeManaged
	for _, c := range []struct {
		reason string
		mode   v1alpha1.InstanceMode
		stored *v1alpha1.InstanceControlPlane
		look   asked
		want   *v1alpha1.InstanceControlPlane
	}{
		{"it was never reached", external, nil, asked{fingerprint: "new"}, nil},
		{"the first answer is a claim", external, nil, asked{id: "a", fingerprint: "new"}, cp("a", pending, "new")},
		{"a look that did not ask changes nothing", external, cp("a", held, "old"), asked{fingerprint: "new"}, cp("a", held, "old")},
		{"a new address or new credentials of the same one are proven", external, cp("a", held, "old"), asked{id: "a", fingerprint: "new"}, cp("a", held, "new")},
		{"what is held stays, wherever the credentials lead", external, cp("a", held, "old"), asked{id: "b", fingerprint: "new"}, cp("a", held, "old")},
		{"a Managed one was installed anew", managed, cp("a", held, "old"), asked{id: "b", fingerprint: "new"}, cp("b", pending, "new")},
		{"what is not held yet may change", external, cp("a", pending, "old"), asked{id: "b", fingerprint: "new"}, cp("b", pending, "new")},
		{"a duplicate was given the kubeconfig of another one", external, cp("a", duplicate, "old"), asked{id: "b", fingerprint: "new"}, cp("b", pending, "new")},
		{"a duplicate stays one at another address", external, cp("a", duplicate, "old"), asked{id: "a", fingerprint: "new"}, cp("a", duplicate, "new")},
	} {
		if diff := cmp.Diff(c.want, record(c.mode, c.stored, c.look)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

func TestIdentified(t *testing.T) {
	cp := func(claim v1alpha1.ControlPlaneClaim) *v1alpha1.InstanceControlPlane {
		return &v1alpha1.InstanceControlPlane{KubeSystemID: "a", Claim: claim, CredentialsFingerprint: "by"}
	}
	yes, no := v1alpha1.Reachable(""), v1alpha1.Unreachable(v1alpha1.ReasonNotAnswering, "")
	other, fine, twice := v1alpha1.NotIdentified(v1alpha1.ReasonOtherControlPlane, "was"), v1alpha1.Identified(""), v1alpha1.NotIdentified(v1alpha1.ReasonDuplicate, "was")
	for _, c := range []struct {
		reason    string
		now       *v1alpha1.InstanceControlPlane
		stored    *metav1.Condition
		look      asked
		reachable metav1.Condition
		want      string
	}{
		{"it cannot be read", nil, nil, asked{}, v1alpha1.ReachableUnknown(v1alpha1.ReasonCredentialsMissing, ""), "Unknown/CredentialsMissing"},
		{"it was never reached", nil, nil, asked{}, no, "Unknown/Pending"},
		{"it may not be asked", nil, nil, asked{refused: true, fingerprint: "by"}, yes, "Unknown/IdentityUnreadable"},
		{"it may not be asked with new credentials", cp(v1alpha1.ClaimHeld), &fine, asked{refused: true, fingerprint: "new"}, yes, "Unknown/IdentityUnreadable"},
		{"it may not be asked any more with those that led there", cp(v1alpha1.ClaimHeld), &fine, asked{refused: true, fingerprint: "by"}, yes, "True/Identified"},
		{"others are compared", cp(v1alpha1.ClaimPending), nil, asked{id: "a"}, yes, "Unknown/Pending"},
		{"it has it", cp(v1alpha1.ClaimHeld), nil, asked{id: "a"}, yes, "True/Identified"},
		{"another has it", cp(v1alpha1.ClaimDuplicate), nil, asked{id: "a"}, yes, "False/Duplicate"},
		{"another has it, and neither answers", cp(v1alpha1.ClaimDuplicate), &twice, asked{}, no, "False/Duplicate"},
		{"the other is deleted", cp(v1alpha1.ClaimHeld), &twice, asked{}, no, "True/Identified"},
		{"the credentials lead elsewhere", cp(v1alpha1.ClaimHeld), &fine, asked{id: "b"}, yes, "False/OtherControlPlane"},
		{"they did, and nothing was asked since", cp(v1alpha1.ClaimHeld), &other, asked{}, no, "False/OtherControlPlane"},
		{"they did, and lead back", cp(v1alpha1.ClaimHeld), &other, asked{id: "a"}, yes, "True/Identified"},
	} {
		got := identified(c.now, c.stored, c.look, c.reachable)
		if word := string(got.Status) + "/" + got.Reason; word != c.want {
			t.Errorf("%s: got %s, want %s", c.reason, word, c.want)
		}
	}
}

// world is what is stored, as an API server keeps it: each write has a version.
type world struct {
	version int
	stored  map[types.UID]*v1alpha1.Instance
}

func (w *world) list() (all []v1alpha1.Instance) {
	for _, i := range w.stored {
		all = append(all, *i.DeepCopy())
	}
	return all
}

// write stores a claim, provided that the version is still what it was.
func (w *world) write(uid types.UID, at string, claim v1alpha1.ControlPlaneClaim) {
	if i := w.stored[uid]; i != nil && i.ResourceVersion == at {
		w.version++
		i.ResourceVersion = fmt.Sprint(w.version)
		i.Status.ControlPlane = &v1alpha1.InstanceControlPlane{KubeSystemID: "a", Claim: claim}
	}
}

// TestCompete has several processes decide the claims of several Instances in every
// order: each may be frozen between what it read and what it writes, and go on by what
// it read.
func TestCompete(t *testing.T) {
	const instances, processes, rounds, steps = 3, 3, 3000, 120
	for seed := range uint64(rounds) {
		random := rand.New(rand.NewPCG(seed, 1))
		w := &world{stored: map[types.UID]*v1alpha1.Instance{}}
		for n := range instances {
			uid := types.UID(fmt.Sprint(n))
			w.stored[uid] = &v1alpha1.Instance{ObjectMeta: metav1.ObjectMeta{
				Name: string(rune('c' - n)), UID: uid, ResourceVersion: "0", CreationTimestamp: metav1.NewTime(time.Unix(int64(random.IntN(2)), 0)),
			}}
		}
		// What each process has read and not written yet, by Instance.
		type decision struct {
			at    string
			claim v1alpha1.ControlPlaneClaim
		}
		read := map[[2]int]*decision{}
		step := func(process, n int) {
			uid := types.UID(fmt.Sprint(n))
			i := w.stored[uid]
			k := [2]int{process, n}
			switch d := read[k]; {
			case i == nil:
			case i.Status.ControlPlane == nil:
				w.write(uid, i.ResourceVersion, v1alpha1.ClaimPending)
			case d != nil:
				w.write(uid, d.at, d.claim)
				delete(read, k)
			case i.Status.ControlPlane.Claim != v1alpha1.ClaimHeld:
				if claim, at := compete(uid, w.list()); at != nil {
					read[k] = &decision{at.ResourceVersion, claim}
				}
			}
		}
		holders := func() (held int) {
			for _, i := range w.stored {
				if i.Status.ControlPlane != nil && i.Status.ControlPlane.Claim == v1alpha1.ClaimHeld {
					held++
				}
			}
			return held
		}
		for range steps {
			step(random.IntN(processes), random.IntN(instances))
			if random.IntN(25) == 0 { // One is deleted, holder or not.
				delete(w.stored, types.UID(fmt.Sprint(random.IntN(instances))))
			}
			if held := holders(); held > 1 {
				t.Fatalf("seed %d: %d hold it", seed, held)
			}
		}
		for range 20 * instances { // What is left comes to rest.
			for n := range instances {
				step(0, n)
			}
		}
		if held := holders(); len(w.stored) > 0 && held != 1 {
			t.Fatalf("seed %d: %d hold it in the end, of %d: %+v", seed, held, len(w.stored), w.stored)
		}
	}
}
