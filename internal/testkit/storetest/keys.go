package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taskerhq/tasker/internal/engine"
	"github.com/taskerhq/tasker/internal/model/task"
)

func keyCases() []testCase {
	return []testCase{
		{"FirstTakes", keyFirstTakes},
		{"TakenUntilItExpires", keyTakenUntilItExpires},
		{"TakenInTheSameTransaction", keyTakenInTheSameTransaction},
		{"PerNamespace", keyPerNamespace},
		{"ExactText", keyExactText},
		{"FreeAfterRollback", keyFreeAfterRollback},
		{"BoundAnew", keyBoundAnew},
		{"BoundForTheFirstTime", keyBoundForTheFirstTime},
		{"ManyAtOnce", keysManyAtOnce},
		{"DropKeys", dropKeys},
		{"KeyHash", keyHash},
		{"BoundTasks", boundTasks},
	}
}

func takeKey(ctx context.Context, f *fixture, tx engine.Tx, name engine.KeyName, to engine.Binding, now,
	expires task.Instant,
) (bound engine.Binding, taken bool, err error) {
	answers, err := f.store.KeyStore().TakeKeys(ctx, tx, []engine.KeyAsk{{Name: name, To: to}}, now, expires, true)
	if err != nil {
		return bound, false, err
	}
	return answers[0].Bound, answers[0].Taken, nil
}

// take stores a new task unless its key is taken, and returns the key's task.
func take(ctx context.Context, f *fixture, tx engine.Tx, namespace, key string, now,
	expires task.Instant,
) (named task.ID, isNew bool, err error) {
	j := f.build(f.single, 0)
	j.task.IdempotencyKey = key
	bound, taken, err := takeKey(ctx, f, tx, engine.KeyName{Namespace: namespace, Key: key},
		engine.Binding{Task: j.task.ID}, now, expires)
	if err != nil || taken {
		return bound.Task, false, err
	}
	return j.task.ID, true, insert(ctx, tx, j)
}

func (f *fixture) take(namespace, key string, now, expires task.Instant) (named task.ID, isNew bool) {
	f.Helper()
	f.write(func(ctx context.Context, tx engine.Tx) (err error) {
		named, isNew, err = take(ctx, f, tx, namespace, key, now, expires)
		return err
	})
	return named, isNew
}

// Of many keys some are free, some expired, some bound: each has its own answer, in order.
func keysManyAtOnce(f *fixture) {
	expires := f.now.Add(time.Hour)
	f.take("default", keyOf(1), f.now.Add(-time.Hour), f.now) // has expired
	second, _ := f.take("default", keyOf(2), f.now, expires)
	for _, patient := range []bool{false, true} {
		f.write(func(ctx context.Context, tx engine.Tx) error {
			asks := make([]engine.KeyAsk, 0, 4)
			for _, i := range []int{3, 2, 1, 0} { // not in their order
				j, name := f.build(f.single, 0), engine.KeyName{Namespace: "default", Key: keyOf(i)}
				if err := insert(ctx, tx, j); err != nil {
					return err
				}
				asks = append(asks, engine.KeyAsk{Name: name, To: engine.Binding{Task: j.task.ID}})
			}
			answers, err := f.store.KeyStore().TakeKeys(ctx, tx, asks, f.now, expires, patient)
			if err != nil {
				return err
			}
			want := []engine.KeyAnswer{{}, {Bound: engine.Binding{Task: second}, Taken: true}, {}, {}}
			f.equal("answers", answers, want)
			if answers, err = f.store.KeyStore().TakeKeys(ctx, tx, asks[:1], f.now, expires, patient); err == nil {
				f.equal("again", answers, []engine.KeyAnswer{{Bound: asks[0].To, Taken: true}})
			}
			return errors.Join(err, f.store.KeyStore().BindKey(ctx, tx, asks[0].Name, asks[0].To, f.now),
				f.store.KeyStore().BindKey(ctx, tx, asks[2].Name, asks[2].To, f.now),
				f.store.KeyStore().BindKey(ctx, tx, asks[3].Name, asks[3].To, f.now)) // free again for the next round
		})
	}
}

func keyFirstTakes(f *fixture) {
	first, isNew := f.take("default", "k", f.now, f.now.Add(time.Hour))
	f.equal("the first is new", isNew, true)
	second, isNew := f.take("default", "k", f.now, f.now.Add(time.Hour))
	f.equal("the second is new", isNew, false)
	f.equal("the second is the first", second, first)
}

func keyTakenUntilItExpires(f *fixture) {
	expires := f.now.Add(time.Hour)
	first, _ := f.take("default", "k", f.now, expires)
	// A later look does not prolong it.
	again, isNew := f.take("default", "k", expires-1, expires.Add(time.Hour))
	f.equal("new just before it expires", isNew, false)
	f.equal("bound to", again, first)
	second, isNew := f.take("default", "k", expires+1, expires.Add(time.Hour))
	f.equal("new after it has expired", isNew, true)
	third, isNew := f.take("default", "k", expires+2, expires.Add(time.Hour))
	f.equal("new again", isNew, false)
	f.equal("bound to", third, second)
}

func keyTakenInTheSameTransaction(f *fixture) {
	f.write(func(ctx context.Context, tx engine.Tx) error {
		first, _, err := take(ctx, f, tx, "default", "k", f.now, f.now.Add(time.Hour))
		if err != nil {
			return err
		}
		second, isNew, err := take(ctx, f, tx, "default", "k", f.now, f.now.Add(time.Hour))
		f.equal("new", isNew, false)
		f.equal("bound to", second, first)
		return err
	})
}

func keyPerNamespace(f *fixture) {
	expires := f.now.Add(time.Hour)
	// Naively joined, these pairs would be equal.
	for _, pair := range [][2]string{{"a", "b"}, {"b", "a"}, {"ab", ""}, {"", "ab"}, {"a/", "b"}, {"a", "/b"}} {
		_, isNew := f.take(pair[0], pair[1], f.now, expires)
		f.equal(pair[0]+" "+pair[1]+" is new", isNew, true)
	}
}

func keyExactText(f *fixture) {
	expires := f.now.Add(time.Hour)
	for _, key := range append(hostile(), "k", "K", "k ", " k", "é", "e\u0301", "1", "01", "1.0") {
		_, isNew := f.take("default", key, f.now, expires)
		f.equal("the key "+key+" is new", isNew, true)
	}
}

func keyFreeAfterRollback(f *fixture) {
	expires := f.now.Add(time.Hour)
	err := f.store.Write(f.Context(), func(ctx context.Context, tx engine.Tx) error {
		if _, _, err := take(ctx, f, tx, "default", "k", f.now, expires); err != nil {
			return err
		}
		return errBoom
	})
	f.equal("error", err != nil, true)
	_, isNew := f.take("default", "k", f.now, expires)
	f.equal("new", isNew, true)
}

func (f *fixture) bind(key string, expires task.Instant) task.ID {
	f.Helper()
	j := f.build(f.single, 0)
	j.task.IdempotencyKey = key
	f.write(func(ctx context.Context, tx engine.Tx) error {
		if err := f.store.KeyStore().BindKey(ctx, tx, engine.KeyName{Namespace: "default", Key: key},
			engine.Binding{Task: j.task.ID}, expires); err != nil {
			return err
		}
		return insert(ctx, tx, j)
	})
	return j.task.ID
}

func keyBoundAnew(f *fixture) {
	expires := f.now.Add(time.Hour)
	f.take("default", "k", f.now, expires)
	other, _ := f.take("default", "other", f.now, expires)
	bound := f.bind("k", expires.Add(time.Hour)) // long before it expires
	named, isNew := f.take("default", "k", expires, expires)
	f.equal("new at the old time of expiry", isNew, false)
	f.equal("bound to", named, bound)
	_, isNew = f.take("default", "k", expires.Add(time.Hour), expires.Add(2*time.Hour))
	f.equal("new at the new one", isNew, true)
	named, _ = f.take("default", "other", f.now, expires)
	f.equal("another key is bound to", named, other)
}

func keyBoundForTheFirstTime(f *fixture) {
	bound := f.bind("k", f.now.Add(time.Hour))
	named, isNew := f.take("default", "k", f.now, f.now.Add(time.Hour))
	f.equal("new", isNew, false)
	f.equal("bound to", named, bound)
}

func dropKeys(f *fixture) {
	for i := range 5 {
		f.take("default", keyOf(i), f.now, f.now.Add(time.Duration(i)*time.Hour))
	}
	drop := func(before task.Instant, limit int) (n int) {
		f.write(func(ctx context.Context, tx engine.Tx) (err error) {
			n, err = f.store.KeyStore().DropKeys(ctx, tx, before, limit)
			return err
		})
		return n
	}
	f.equal("dropped before any has expired", drop(f.now, 10), 0)
	f.equal("dropped with a limit", drop(f.now.Add(2*time.Hour)+1, 2), 2)
	f.equal("dropped the rest", drop(f.now.Add(2*time.Hour)+1, 2), 1)
	f.equal("dropped nothing more", drop(f.now.Add(2*time.Hour)+1, 2), 0)
	for i := range 5 {
		_, isNew := f.take("default", keyOf(i), f.now.Add(-time.Hour), f.now)
		f.equal("the key "+keyOf(i)+" is free", isNew, i < 3)
	}
}

// keyHash: a key keeps its hash until it is bound again.
func keyHash(f *fixture) {
	name, expires := engine.KeyName{Namespace: "default", Key: "k"}, f.now.Add(time.Hour)
	bind := func(hash string, fn func(context.Context, engine.Tx, engine.Binding) error) {
		j := f.build(f.single, 0)
		j.task.IdempotencyKey = name.Key
		f.write(func(ctx context.Context, tx engine.Tx) error {
			if err := fn(ctx, tx, engine.Binding{Task: j.task.ID, Hash: hash}); err != nil {
				return err
			}
			return insert(ctx, tx, j)
		})
	}
	look := func(want string) {
		f.write(func(ctx context.Context, tx engine.Tx) error {
			bound, taken, err := takeKey(ctx, f, tx, name,
				engine.Binding{Task: f.store.IDs().Take(f.now.Time(), 1), Hash: "later"}, f.now, expires)
			f.equal("taken", taken, true)
			f.equal("hash", bound.Hash, want)
			return err
		})
	}
	bind("first", func(ctx context.Context, tx engine.Tx, to engine.Binding) error {
		_, _, err := takeKey(ctx, f, tx, name, to, f.now, expires)
		return err
	})
	look("first")
	bind("second", func(ctx context.Context, tx engine.Tx, to engine.Binding) error {
		return f.store.KeyStore().BindKey(ctx, tx, name, to, expires)
	})
	look("second")
	bind("", func(ctx context.Context, tx engine.Tx, to engine.Binding) error {
		return f.store.KeyStore().BindKey(ctx, tx, name, to, expires)
	})
	look("")
}

// boundTasks: many keys are looked up together, and expired ones are not bound.
func boundTasks(f *fixture) {
	expires := f.now.Add(time.Hour)
	want := map[engine.KeyName]task.ID{}
	var names []engine.KeyName
	for _, n := range []engine.KeyName{{Namespace: "a", Key: "k"}, {Namespace: "b", Key: "k"},
		{Namespace: "a", Key: "it's"}} {
		want[n], _ = f.take(n.Namespace, n.Key, f.now, expires)
		names = append(names, n)
	}
	f.take("a", "gone", f.now, f.now.Add(time.Minute))
	names = append(names, engine.KeyName{Namespace: "a", Key: "gone"}, engine.KeyName{Namespace: "b", Key: "it's"})
	for i := range 1200 { // more than one statement takes
		names = append(names, engine.KeyName{Namespace: "a", Key: fmt.Sprint("none-", i)})
	}
	got, err := f.store.KeyStore().BoundTasks(f.Context(), names, f.now.Add(time.Minute))
	f.must(err)
	f.equal("bound", fmt.Sprint(got), fmt.Sprint(want))
	none, err := f.store.KeyStore().BoundTasks(f.Context(), nil, f.now)
	f.must(err)
	f.equal("of none", len(none), 0)
}
