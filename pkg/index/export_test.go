package index

import "time"

// LimitAnswers lowers what an answer may hold, in bytes.
func (c *Client) LimitAnswers(most int64) { c.maxResponse = most }

// LimitTime bounds a request from now on; Config.Timeout would bound those before
// it too.
func (c *Client) LimitTime(most time.Duration) { c.timeout = most }
