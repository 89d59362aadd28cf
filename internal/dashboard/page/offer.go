package page

import (
	"crypto/rand"
	"net/http"
	"sync"
	"time"
)

// Offer is an act that the notice about another one offers, mostly its opposite.
type Offer struct {
	Title  string // of the button
	Path   string // of an act of this site
	Fields []Field
}

// Field is a field of a form. Fields may repeat.
type Field struct{ Name, Value string }

// offers keeps what the next page of a viewer offers. The browser gets a random name for it and not the act itself, so
// that nobody can plant a button by planting a cookie. Another node knows no offer: its notice lacks the button.
type offers struct {
	mu   sync.Mutex
	made map[string]keptOffer
}

type keptOffer struct {
	*Offer
	until time.Time
}

// Bounds of offers: how long one waits for its page, and how many wait.
const (
	offerTime = 30 * time.Second
	maxOffers = 1000
)

// offerCookie carries the name of an offer to the next page.
const offerCookie = "tasker_offer"

// put keeps an offer for the next page. When too many wait, it is dropped.
func (o *offers) put(w http.ResponseWriter, offer *Offer, now time.Time) {
	name := rand.Text()
	o.mu.Lock()
	defer o.mu.Unlock()
	for old, kept := range o.made {
		if now.After(kept.until) {
			delete(o.made, old)
		}
	}
	if len(o.made) >= maxOffers {
		return
	}
	if o.made == nil {
		o.made = map[string]keptOffer{}
	}
	o.made[name] = keptOffer{offer, now.Add(offerTime)}
	http.SetCookie(w, &http.Cookie{Name: offerCookie, Value: name, Path: "/", MaxAge: int(offerTime / time.Second),
		SameSite: http.SameSiteStrictMode, HttpOnly: true})
}

// take returns the offer that the cookie of a request names, once; nil for none.
func (o *offers) take(w http.ResponseWriter, r *http.Request, now time.Time) *Offer {
	c, err := r.Cookie(offerCookie)
	if err != nil {
		return nil
	}
	http.SetCookie(w, &http.Cookie{Name: offerCookie, Path: "/", MaxAge: -1, SameSite: http.SameSiteStrictMode,
		HttpOnly: true})
	o.mu.Lock()
	defer o.mu.Unlock()
	kept, ok := o.made[c.Value]
	delete(o.made, c.Value)
	if !ok || now.After(kept.until) {
		return nil
	}
	return kept.Offer
}
