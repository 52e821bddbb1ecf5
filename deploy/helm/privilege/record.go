package privilege

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Record is what is known of how some accounts used their roles. It is kept in a file,
// because the API server throws its audit log away bit by bit.
type Record struct {
	// Read is how far each file was read, by its inode: files are renamed.
	Read map[uint64]int64 `json:"read"`
	// Requests counts the requests of each account.
	Requests map[string]int `json:"requests"`
	// Used are the rights that were used.
	Used map[string]int `json:"used"`
	// Refused are the requests that the roles do not allow, with what was said.
	Refused map[string]string `json:"refused"`
	// Early counts refusals of an API server that did not know the roles yet.
	Early int `json:"early"`

	namespace string
	roles     []Role
	rights    map[*Role][]right
}

// NewRecord makes an empty record about the service accounts of a namespace.
func NewRecord(namespace string, roles []Role) *Record {
	r := &Record{
		Read: map[uint64]int64{}, Requests: map[string]int{}, Used: map[string]int{}, Refused: map[string]string{},
		namespace: namespace, roles: roles, rights: map[*Role][]right{},
	}
	for i := range roles {
		r.rights[&roles[i]] = roles[i].rights()
	}
	return r
}

// Load reads what was stored; a file that is not there is an empty record.
func (r *Record) Load(file string) error {
	content, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(content, r)
}

// Store writes the record in one step.
func (r *Record) Store(file string) error {
	content, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// Follow reads what was added to audit logs since the last time. The pattern finds the
// files, those that were put aside among them.
func (r *Record) Follow(pattern string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("there is no audit log at %s", pattern)
	}
	for _, file := range files {
		if err := r.follow(file); err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
	}
	return nil
}

func (r *Record) follow(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil // It was thrown away meanwhile.
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	status, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("this system does not tell files apart")
	}
	if _, err := file.Seek(r.Read[status.Ino], io.SeekStart); err != nil {
		return err
	}
	lines := bufio.NewReaderSize(file, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // A line that is not whole is read the next time.
		}
		if err != nil {
			return err
		}
		r.Read[status.Ino] += int64(len(line))
		var request Request
		if err := json.Unmarshal(line, &request); err != nil {
			return fmt.Errorf("%w: %.200s", err, line)
		}
		r.Add(&request)
	}
}

// Add notes one request.
func (r *Record) Add(request *Request) {
	account := request.account(r.namespace)
	if account == "" {
		return
	}
	r.Requests[account]++
	switch request.judge(account, r.roles) {
	case refused:
		r.Refused[account+" "+request.Verb+" "+request.RequestURI] = request.ResponseStatus.Message
	case early:
		r.Early++
	case ending, fine:
	}
	if request.ImpersonatedUser != nil {
		r.impersonated(account, request.ImpersonatedUser.Username, request.ImpersonatedUser.Groups, request.ImpersonatedUser.UID, slices.Collect(maps.Keys(request.ImpersonatedUser.Extra)))
		return
	}
	role := request.allowedBy(r.roles)
	if role == nil {
		return
	}
	for _, right := range r.rights[role] {
		if right.covers(request.Verb, request.ObjectRef.APIGroup, request.resource(), request.ObjectRef.Namespace, request.ObjectRef.Name) {
			r.Used[right.String()]++
		}
	}
}

// impersonated notes what the request to impersonate a user needs. The log has no line of its own for it.
func (r *Record) impersonated(account, user string, groups []string, uid string, extras []string) {
	resources := []string{"users"}
	if strings.HasPrefix(user, "system:serviceaccount:") {
		resources = []string{"serviceaccounts"}
	}
	if len(groups) > 0 {
		resources = append(resources, "groups")
	}
	if uid != "" {
		resources = append(resources, "uids")
	}
	for _, extra := range extras {
		resources = append(resources, "userextras/"+extra)
	}
	for role, rights := range r.rights {
		for _, right := range rights {
			if role.Account == account && right.verb == "impersonate" && slices.Contains(resources, right.resource) {
				r.Used[right.String()]++
			}
		}
	}
}

// Idle are the rights that no request needed, in order.
func (r *Record) Idle() []string {
	var idle []string
	for _, rights := range r.rights {
		for _, right := range rights {
			if r.Used[right.String()] == 0 {
				idle = append(idle, right.String())
			}
		}
	}
	slices.Sort(idle)
	return slices.Compact(idle)
}
