package traces

import (
	"sync"
	"time"
)

// rarely calls a function at most once in a while.
func rarely(every time.Duration, do func(error)) func(error) {
	var mu sync.Mutex
	var last time.Time
	return func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); last.IsZero() || now.Sub(last) >= every {
			last = now
			do(err)
		}
	}
}
