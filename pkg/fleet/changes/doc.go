// Package changes converts the events of pkg/live about objects of instances into events of the
// API: restricted to what the user may see, with the API's types, and only where a selected field
// differs.
package changes
