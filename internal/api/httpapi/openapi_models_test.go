package httpapi_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/taskerhq/tasker/internal/api/httpapi"
	"github.com/taskerhq/tasker/internal/checks/typegen"
)

func TestOpenAPIModels(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	httpapi.New(&fake{}, httpapi.Options{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/openapi.json", nil))
	for file, write := range map[string]func([]byte) ([]byte, error){
		"python/src/tasker/models.py":     typegen.Python,
		"python/src/tasker/operations.py": typegen.PythonOperations,
		"typescript/src/models.ts":        typegen.TypeScript,
		"typescript/src/operations.ts":    typegen.TypeScriptOperations,
	} {
		got, err := write(w.Body.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("../../../clients", file)
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("clients/%s is older than the API: run make models", file)
		}
	}
}
