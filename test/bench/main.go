package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/wait"
)

// options are the flags of the command.
type options struct {
	fleet, url string
	cleanup    bool
	// workloads are those that the index is filled with; 0 to measure against a REST client.
	workloads    int
	only         []string
	json         string
	profileDir   string
	pprofAddress string
	pid          int
	settings     settings
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (*options, error) {
	o := &options{}
	f := pflag.NewFlagSet("bench", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar(&o.fleet, "fleet", ".local", "`folder` of a running fleet")
	f.StringVar(&o.url, "url", "", "`URL` of Kairship, when it is not the fleet's own")
	f.IntVar(&o.pid, "pid", 0, "process `ID` of that Kairship, to tell its CPU time")
	f.BoolVar(&o.cleanup, "cleanup", false, "remove the fixture and do nothing else")
	f.IntVar(&o.workloads, "scale-index", 0, "fill the index with so many `workloads`, ten objects each, and measure reads of that; the fleet is not usable afterwards")
	f.StringSliceVar(&o.only, "only", nil, "measure only these `scenarios`")
	f.IntSliceVar(&o.settings.clients, "clients", []int{1, 50}, "how many clients ask at the same time")
	f.IntVar(&o.settings.rounds, "rounds", 5, "how many times each side has its turn")
	f.DurationVar(&o.settings.slice, "slice", 1500*time.Millisecond, "how long a turn is")
	f.IntVar(&o.settings.maxOps, "max-ops", 20_000, "the most operations of one turn")
	f.DurationVar(&o.settings.warmUp, "warm-up", time.Second, "how long each side runs before it is measured")
	f.Uint64Var(&o.settings.seed, "seed", 1, "where the random sequence of pages starts")
	f.StringVar(&o.json, "json", "", "`file` to write all figures to")
	f.StringVar(&o.profileDir, "profile", "", "`folder` to save CPU profiles of Kairship in, one for each scenario")
	f.StringVar(&o.pprofAddress, "pprof-address", "127.0.0.1:6060", "`host:port` that Kairship's --pprof-address says; needed by --profile")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag, and there is nothing else to give", f.Arg(0))
	}
	if o.settings.rounds < 1 || o.settings.slice <= 0 || o.settings.maxOps < 1 || slices.Min(o.settings.clients) < 1 {
		return nil, errors.New("--rounds, --slice, --max-ops and --clients must be more than 0")
	}
	return o, nil
}

func sayf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	f, err := readFleet(o.fleet)
	if err != nil {
		return err
	}
	if o.workloads > 0 {
		return o.scale(ctx, f)
	}
	global, err := f.config("global")
	if err != nil {
		return err
	}
	index, err := newRESTClient(global)
	if err != nil {
		return err
	}
	fx, err := newFixture(f, index, sayf)
	if err != nil {
		return err
	}
	if o.cleanup {
		return fx.cleanup(ctx)
	}
	kairship, err := o.kairship(f)
	if err != nil {
		return err
	}
	if err := fx.ensure(ctx); err != nil {
		return err
	}
	all, err := o.scenarios(ctx, kairship, index)
	if err != nil {
		return err
	}
	o.settings.cpu = newCPUMeter(f, o.pid)
	r := &report{Started: time.Now().UTC(), DB: f.DB, Rounds: o.settings.rounds, SliceMillis: o.settings.slice.Milliseconds()}
	if r.Comparisons, err = o.compare(ctx, all); err != nil {
		return err
	}
	r.print(os.Stdout)
	if o.json != "" {
		return r.save(o.json)
	}
	return nil
}

// kairship is the client of the API, as the fleet's administrator.
func (o *options) kairship(f *fleet) (*graphqlClient, error) {
	url := o.url
	if url == "" {
		url = f.KairshipURL
	}
	if url == "" {
		return nil, fmt.Errorf("the fleet in %s runs without Kairship; give the address of one with --url", o.fleet)
	}
	token, err := f.token("admin")
	if err != nil {
		return nil, err
	}
	return newGraphQLClient(url, token, slices.Max(o.settings.clients)), nil
}

// scenarios are those that were asked for.
func (o *options) scenarios(ctx context.Context, kairship *graphqlClient, index *restClient) ([]scenario, error) {
	picks, err := kairship.picks(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the whole list through Kairship: %w", err)
	}
	if len(picks) != total {
		return nil, fmt.Errorf("of the fixture's Deployments, Kairship lists %d, and there are %d", len(picks), total)
	}
	all := scenarios(kairship, index, picks)
	if len(o.only) == 0 {
		return all, nil
	}
	var chosen []scenario
	for _, name := range o.only {
		i := slices.IndexFunc(all, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("--only: there is no scenario %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// agree waits until both sides give the same answers. One is asked after the
// other, and the fixture's last statuses may arrive between them; a disagreement
// that lasts is an error.
func agree(ctx context.Context, s *scenario, random *rand.Rand) error {
	const most = 30 * time.Second
	var last error
	err := wait.PollUntilContextTimeout(ctx, time.Second, most, true, func(ctx context.Context) (bool, error) {
		last = s.verify(ctx, random)
		return last == nil, nil
	})
	if err != nil && last != nil {
		return last
	}
	return err
}

// compare checks every scenario, then measures it.
func (o *options) compare(ctx context.Context, all []scenario) ([]*comparison, error) {
	random := rand.New(rand.NewPCG(o.settings.seed, 0))
	for i := range all {
		if err := agree(ctx, &all[i], random); err != nil {
			return nil, err
		}
	}
	sayf("both sides give the same answers; measuring")
	var done []*comparison
	for i := range all {
		s := &all[i]
		graphql, rest, err := s.costs(ctx, random)
		if err != nil {
			return nil, fmt.Errorf("%s: counting requests: %w", s.name, err)
		}
		for _, clients := range o.settings.clients {
			c, err := s.measure(ctx, o.settings, clients)
			if err != nil {
				return nil, fmt.Errorf("%s with %d clients: %w", s.name, clients, err)
			}
			c.Kairship.IndexRequests, c.Index.IndexRequests = graphql, rest
			sayf("%-12s %2d clients: p50 %.2f ×, op/s %.2f ×", s.name, clients, c.LatencyRatio, c.ThroughputRatio)
			done = append(done, c)
			if o.profileDir == "" {
				continue
			}
			p := &profiler{dir: o.profileDir, address: o.pprofAddress}
			if err := p.take(ctx, s, clients); err != nil {
				return nil, err
			}
		}
	}
	return done, nil
}
