package write

// WarningCode is a kind of warning. The values are those of the GraphQL enum WarningCode.
type WarningCode string

// The kinds of warnings.
const (
	// WarningFieldNotKept is about a field that an update does not keep although
	// the input does not mention it.
	WarningFieldNotKept WarningCode = "FIELD_NOT_KEPT"
	// WarningUnknownCluster is about the name of a cluster that the instance does not have.
	WarningUnknownCluster WarningCode = "UNKNOWN_CLUSTER"
)

// Warning is something that an accepted change does and its author may not mean.
type Warning struct {
	Code WarningCode
	// Argument is the input that the warning is about.
	Argument string
	Message  string
}
