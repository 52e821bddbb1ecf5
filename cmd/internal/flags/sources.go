package flags

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// environmentPrefix is what the names of all settings begin with in the environment.
const environmentPrefix = "KAIRSHIP_"

// environmentName is the name of a flag in the environment.
func environmentName(flag string) string {
	return environmentPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// given is what was written somewhere for one setting.
type given struct {
	// values are the texts, of which a flag may have several.
	values []string
	// from is the place, for a person; it is never empty.
	from string
}

// sources are what one source has given, by the name of the flag.
type sources map[string]given

// onTheCommandLine is where flags come from.
const onTheCommandLine = "the command line"

// set gives a flag its value. The flag keeps what it had when that is refused.
func set(flag *pflag.Flag, g given, problems *Problems) {
	for _, value := range g.values {
		if err := flag.Value.Set(value); err != nil {
			problems.Checkf(false, "--%s: %s, not %q", flag.Name, expected(flag, err), value)
			return
		}
		flag.Changed = true
	}
}

// expected says what kind of value a flag takes.
func expected(flag *pflag.Flag, err error) string {
	switch kind := flag.Value.Type(); kind {
	case "duration":
		return "must be a duration with its unit, such as 500ms, 30s or 1m30s"
	case "bool":
		return "must be true or false"
	case "int", "int32", "int64":
		return "must be a whole number"
	case "uint", "uint32", "uint64":
		return "must be a whole number from 0"
	case "float32", "float64":
		return "must be a number"
	case "stringToInt", "stringToInt64":
		return "must be name=number,name=number"
	case "stringToString":
		return "must be name=value,name=value"
	default:
		return fmt.Sprintf("must be a %s (%v)", kind, err)
	}
}

// readArgs reads a command line without giving the flags their values. It goes on
// after a flag that does not exist, so that all of them are named.
func readArgs(args []string, groups []Group, problems *Problems) sources {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	all.Usage = func() {}
	for _, group := range groups {
		all.AddFlagSet(group.FlagSet)
	}
	for {
		found := sources{}
		err := all.ParseAll(args, func(flag *pflag.Flag, value string) error {
			g := found[flag.Name]
			found[flag.Name] = given{values: append(g.values, value), from: onTheCommandLine}
			return nil
		})
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
			name := unknown.GetSpecifiedName()
			problems.Checkf(false, "--%s: there is no such flag%s", name, suggestion(name, names(groups), "--"))
			if rest := without(args, name); len(rest) < len(args) {
				args = rest
				continue
			}
		} else if err != nil {
			problems.Checkf(false, "%v", err)
		}
		for _, arg := range all.Args() {
			problems.Checkf(false, "%q is not a flag, and there is nothing else to give", arg)
		}
		return found
	}
}

// without removes the first use of a flag, and the value after it.
func without(args []string, name string) []string {
	for i, arg := range args {
		switch {
		case strings.HasPrefix(arg, "--"+name+"="):
			return slices.Delete(slices.Clone(args), i, i+1)
		case arg != "--"+name:
		case i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			return slices.Delete(slices.Clone(args), i, i+2)
		default:
			return slices.Delete(slices.Clone(args), i, i+1)
		}
	}
	return args
}

func names(groups []Group) []string {
	var all []string
	for _, group := range groups {
		group.VisitAll(func(flag *pflag.Flag) { all = append(all, flag.Name) })
	}
	return all
}

type environment struct {
	given sources
	// ignored are variables that look like settings and are none.
	ignored []string
}

// readEnvironment finds settings in the environment. A variable that is empty counts
// as not given, as everywhere; and one that is no setting cannot be refused, because
// Kubernetes adds some for each Service ("KAIRSHIP_APISERVER_PORT").
func readEnvironment(environ []string, s *Settings) environment {
	found := environment{given: sources{}}
	byVariable := map[string]string{environmentName(configFlag): configFlag}
	for _, setting := range s.list {
		byVariable[environmentName(setting.flag.Name)] = setting.flag.Name
	}
	for _, entry := range environ {
		variable, value, _ := strings.Cut(entry, "=")
		name, is := byVariable[variable]
		switch {
		case !strings.HasPrefix(variable, environmentPrefix) || value == "":
		case is:
			found.given[name] = given{values: []string{value}, from: variable}
		case !ofService(variable):
			found.ignored = append(found.ignored, variable)
		}
	}
	slices.Sort(found.ignored)
	return found
}

// ofService reports whether Kubernetes may have created a variable for a Service of the namespace.
func ofService(variable string) bool {
	return strings.HasSuffix(variable, "_PORT") || strings.HasSuffix(variable, "_SERVICE_HOST") ||
		strings.Contains(variable, "_SERVICE_PORT") || strings.Contains(variable, "_PORT_")
}
