package transfer

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// readCatalog builds tables from rows of table, column, type, and place in the primary key (-1 outside it), grouped
// by table. An unknown type or a missing primary key is an error, because an incomplete copy is worse than none. It
// skips own.
func readCatalog(ctx context.Context, tx *sql.Tx, query string, kinds map[string]kind) ([]table, error) {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	defer rows.Close()
	var tables []table
	var places [][]int
	for rows.Next() {
		var name, col, typ string
		var place int
		if err := rows.Scan(&name, &col, &typ, &place); err != nil {
			return nil, fmt.Errorf("read the catalog: %w", err)
		}
		if slices.Contains(own, name) {
			continue
		}
		k, ok := kinds[typ]
		if !ok {
			return nil, fmt.Errorf("%s.%s is of type %s, which cannot be copied", name, col, typ)
		}
		if n := len(tables); n == 0 || tables[n-1].name != name {
			tables, places = append(tables, table{name: name}), append(places, nil)
		}
		last := len(tables) - 1
		tables[last].columns = append(tables[last].columns, column{col, k})
		places[last] = append(places[last], place)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	for i := range tables {
		arrange(&tables[i], places[i])
		if len(tables[i].key) == 0 {
			return nil, fmt.Errorf("%s has no primary key, so it cannot be copied in order", tables[i].name)
		}
	}
	return tables, nil
}
