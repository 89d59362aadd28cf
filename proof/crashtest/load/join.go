package load

import "golang.org/x/sync/errgroup"

// Join runs callers in groups that end together: an error of one cancels all; otherwise the rest may wait without end.
func Join(cancel func()) func(group *errgroup.Group, run func() error) {
	return func(group *errgroup.Group, run func() error) {
		group.Go(func() error {
			err := run()
			if err != nil {
				cancel()
			}
			return err
		})
	}
}
