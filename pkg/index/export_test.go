package index

// LimitAnswers lowers what an answer may hold, in bytes.
func (c *Client) LimitAnswers(most int64) { c.maxResponse = most }
