package quota

import (
	"math"
	"time"
)

// bucket holds tokens that come back with time. Unlike a rate.Limiter, it takes back
// what was reserved and not used.
type bucket struct {
	perSecond, burst, level float64
	at                      time.Time
}

func newBucket(perSecond, burst int, now time.Time) bucket {
	return bucket{perSecond: float64(perSecond), burst: float64(burst), level: float64(burst), at: now}
}

// wait returns how long it takes until the bucket holds n tokens, zero if it does now.
// A bucket never holds more than its burst, so no more is waited for.
func (b *bucket) wait(n int, now time.Time) time.Duration {
	if passed := now.Sub(b.at); passed > 0 {
		b.level = min(b.burst, b.level+passed.Seconds()*b.perSecond)
		b.at = now
	}
	missing := min(float64(n), b.burst) - b.level
	if missing <= 0 {
		return 0
	}
	return time.Duration(math.Ceil(missing / b.perSecond * float64(time.Second)))
}

// add puts n tokens into the bucket, or takes them out where n is negative. The bucket
// owes no more than its burst.
func (b *bucket) add(n int) {
	b.level = max(-b.burst, min(b.burst, b.level+float64(n)))
}
