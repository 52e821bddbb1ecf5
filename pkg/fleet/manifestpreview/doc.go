// Package manifestpreview shows the manifests that member clusters would get after a change of an override policy
// or of templates, without making the change: it reads as the caller, has the instance check the change in a dry
// run, and has whatif/manifest make the manifests.
package manifestpreview
