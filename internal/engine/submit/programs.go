package submit

import (
	"fmt"
	"sync"

	"github.com/taskerhq/tasker/internal/engine/kernel"
	"github.com/taskerhq/tasker/internal/model/expr"
)

type programs struct {
	mu     sync.Mutex
	byText map[string]*expr.Program
}

func (p *programs) Get(text string, names ...string) (*expr.Program, error) {
	key := fmt.Sprint(text, names)
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.byText[key]; c != nil {
		return c, nil
	}
	c, err := expr.Compile(text, names...)
	if err != nil {
		return nil, err
	}
	if p.byText == nil {
		p.byText = map[string]*expr.Program{}
	}
	kernel.MakeRoom(p.byText, maxPrograms)
	p.byText[key] = c
	return c, nil
}

const maxPrograms = 10_000
