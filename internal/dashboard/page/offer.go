package page

import (
	"crypto/rand"
	"net/http"
	"sync"
	"time"
)

// Offer is an act in the notice about another one, mostly its opposite.
type Offer struct {
	Title  string // of the button
	Path   string // of an act of this site
	Fields []Field
}

// Field is a field of a form. Fields may repeat.
type Field struct{ Name, Value string }

// offers has the offers for the next pages of viewers. The browser gets a random name instead of the act, so that
// planting a cookie cannot plant a button. On another node the notice lacks the button.
type offers struct {
	mu   sync.Mutex
	made map[string]keptOffer
}

type keptOffer struct {
	*Offer
	until time.Time
}

// Bounds of waiting offers.
const (
	offerTime = 30 * time.Second
	maxOffers = 1000
)

// offerCookie has the name of an offer for the next page.
const offerCookie = "tasker_offer"

// put drops the offer when too many wait.
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

// take returns the offer of a request's cookie, once; nil for none.
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
