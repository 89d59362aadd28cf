// Shows the OpenAPI document of this server with Swagger UI, and the kinds of problems below it.

// search finds operations by words of their group, method, path, name and summary. Swagger UI alone compares groups.
const search = () => ({
  fn: {
    opsFilter: (groups, phrase) => {
      const words = phrase.toLowerCase().split(/\s+/).filter(Boolean);
      const found = (operation, group) => {
        const about = operation.get("operation");
        const text = [group, operation.get("method"), operation.get("path"), about.get("summary")].join(" ").toLowerCase();
        return words.every((word) => text.includes(word));
      };
      return groups
        .map((group, name) => group.update("operations", (list) => list.filter((operation) => found(operation, name))))
        .filter((group) => group.get("operations").size > 0);
    },
  },
});

// showProblems lists the codes of errors. The type of a problem is the address of its line.
const showProblems = (problems) => {
  const list = document.getElementById("problems");
  for (const problem of problems) {
    const name = list.appendChild(document.createElement("dt"));
    name.id = problem.code;
    name.textContent = `${problem.code} (${problem.status})`;
    list.appendChild(document.createElement("dd")).textContent = problem.meaning;
  }
  document.getElementById(location.hash.slice(1))?.scrollIntoView();
};

const show = (spec) => {
  SwaggerUIBundle({
    spec,
    dom_id: "#api",
    plugins: [search],
    deepLinking: true,
    displayRequestDuration: true,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    filter: true,
    tryItOutEnabled: true,
    validatorUrl: null, // asks another host
    persistAuthorization: false, // a key does not outlive the page
    onComplete: () => showProblems(spec["x-problems"]),
  });
};

fetch("/openapi.json").then((answer) => answer.json()).then(show);
