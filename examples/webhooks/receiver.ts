// Somebody else's server, which has its troubles:
//
//   /ok      takes everything
//   /busy    asks to come back in a second, the first time that it sees an event
//   /broken  refuses everything, until a file named "mended" exists
import { existsSync } from "node:fs";
import { createServer } from "node:http";

const port = Number(process.env["PORT"] ?? 9090);
const seen = new Set<string>();

createServer((request, response) => {
  const id = String(request.headers["webhook-id"]);
  if (request.url === "/busy" && !seen.has(id)) {
    seen.add(id);
    response.writeHead(429, { "Retry-After": "1" }).end("too many requests");
  } else if (request.url === "/broken" && !existsSync("mended")) {
    response.writeHead(422).end("unknown field: currency");
  } else {
    console.log("got", request.url);
    response.writeHead(204).end();
  }
}).listen(port, "127.0.0.1", () => console.log(`listening at http://127.0.0.1:${port}`));
