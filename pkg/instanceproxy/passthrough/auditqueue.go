package passthrough

import (
	"context"
	"sync"

	"github.com/kairship-io/kairship/pkg/audit"
)

// maxWaiting is how many lines may wait to be written. Beyond, requests write
// their lines themselves: a slow disk slows them then, and no line is lost.
const maxWaiting = 4096

// auditQueue writes the lines of the audit behind the requests that they are about.
// Over HTTP/2 an answer is complete once its handler has returned, so a client
// would wait for the line about its own request.
type auditQueue struct {
	log *audit.Log

	mu      sync.Mutex
	waiting []entry
	writing bool
	pending sync.WaitGroup
}

type entry struct {
	ctx       context.Context //nolint:containedctx // It has the trace id, and nothing is waited for.
	record    *audit.Record
	operation audit.Operation
}

func (j *auditQueue) add(e entry) {
	j.mu.Lock()
	if len(j.waiting) >= maxWaiting {
		j.mu.Unlock()
		j.log.Write(e.ctx, e.record, e.operation)
		return
	}
	j.pending.Add(1)
	j.waiting = append(j.waiting, e)
	begin := !j.writing
	j.writing = true
	j.mu.Unlock()
	if begin {
		go j.write()
	}
}

// write writes until nothing waits.
func (j *auditQueue) write() {
	var mine []entry
	for {
		j.mu.Lock()
		if len(j.waiting) == 0 {
			j.writing = false
			j.mu.Unlock()
			return
		}
		clear(mine)
		mine, j.waiting = j.waiting, mine[:0]
		j.mu.Unlock()
		for _, e := range mine {
			j.log.Write(e.ctx, e.record, e.operation)
			j.pending.Done()
		}
	}
}

// flush waits until what was added before is written.
func (j *auditQueue) flush() { j.pending.Wait() }
