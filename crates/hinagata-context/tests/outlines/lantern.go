// Package lantern keeps lanterns.
package lantern

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"sync"
)

const (
	Gate = iota
	Well
	Mill
)

var ErrDark = errors.New("it is dark {")

var help = `usage: lantern
	} braces here
	are text
	`

// A Lantern burns oil.
type Lantern struct {
	Owner string `json:"owner,omitempty"`
	oil   int
	mu    sync.Mutex
}

// A Carrier carries lanterns.
type Carrier interface {
	fmt.Stringer
	Carry(l *Lantern, places ...string) error
	Drop() (*Lantern, error)
}

type (
	Place  string
	Visit  func(Place) bool
	Number interface{ ~int | ~float64 }
)

// New returns a full lantern.
func New(owner string) *Lantern {
	return &Lantern{Owner: owner, oil: 100}
}

// Burn burns oil for some hours.
func (l *Lantern) Burn(hours int) (left int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sign := '}'; sign != '\'' && hours*7 > l.oil {
		return 0, ErrDark
	}
	l.oil -= hours * 7
	return l.oil, nil
}

func Sum[T Number](values map[string]T, keep func(string) bool) (total T) {
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return total
}

var tests = []struct {
	name string
	want int
}{
	{"gate", 1},
	{"well", 2},
	{"mill", 3},
	{"bridge", 4},
	{"tower", 5},
	{"harbour", 6},
}

var printers = map[string]func(io.Writer){
	"short": func(w io.Writer) {
		fmt.Fprintln(w, help)
		fmt.Fprintln(w, strings.ToUpper(help))
		os.Exit(0)
	},
}
