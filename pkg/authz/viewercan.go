package authz

// ViewerCan is what the user may do with one object, for clients that show only
// the buttons that work. It is computed from a Grant alone, so a page of objects
// costs no question to the global cluster. The instance decides again when
// something is done.
type ViewerCan struct {
	View, Create, Update, Delete, Proxy, ManageAccess bool
}

// ViewerCan returns what the user may do with the instance itself. Update and
// Delete are those of the Instance; Create is to create objects in it, in at
// least one namespace.
func (g Grant) ViewerCan() ViewerCan {
	return ViewerCan{
		View:         g.visible(),
		Create:       !g.Reach(VerbCreate).None(),
		Update:       g.Can(VerbUpdateInstance, ""),
		Delete:       g.Can(VerbDeleteInstance, ""),
		Proxy:        g.Can(VerbProxy, ""),
		ManageAccess: g.Can(VerbManageAccess, ""),
	}
}

// ViewerCanIn returns what the user may do with objects in a namespace of the
// instance; namespace "" stands for objects that have none. Create is to create
// further ones there.
func (g Grant) ViewerCanIn(namespace string) ViewerCan {
	return ViewerCan{
		View:         g.Can(VerbView, namespace),
		Create:       g.Can(VerbCreate, namespace),
		Update:       g.Can(VerbUpdate, namespace),
		Delete:       g.Can(VerbDelete, namespace),
		Proxy:        g.Can(VerbProxy, namespace),
		ManageAccess: g.Can(VerbManageAccess, namespace),
	}
}
