package bringup

import "context"

func (b *Bringup) sample(context.Context) error { return nil }
