// Node.js 20 or later: SVC_WEBHOOK_HMAC_KEY=… node receiver.mjs
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";

if (!process.env.SVC_WEBHOOK_HMAC_KEY) {
  process.stderr.write("SVC_WEBHOOK_HMAC_KEY is required: the output of svc webhooks hmac-key\n");
  process.exit(2);
}
const key = Buffer.from(process.env.SVC_WEBHOOK_HMAC_KEY, "base64");
const seen = new Set();

const isGenuine = (body, given = "") => {
  const expected = Buffer.from(createHmac("sha512", key).update(body).digest("hex"));
  const actual = Buffer.from(given, "latin1");
  return actual.length === expected.length && timingSafeEqual(actual, expected);
};

createServer(async (request, response) => {
  const chunks = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch {
    return; // The sender hung up. It sends the event again.
  }
  const body = Buffer.concat(chunks);
  if (!isGenuine(body, request.headers["x-svc-webhook-content-hash"])) return response.writeHead(401).end();
  const id = createHash("sha256").update(body).digest("hex");
  if (!seen.has(id)) {
    // Store first, then respond, and do the work afterwards. A real receiver stores the ID, too.
    appendFileSync("events.jsonl", `${JSON.stringify(JSON.parse(body))}\n`);
    seen.add(id);
  }
  response.writeHead(204).end();
}).listen(process.env.PORT ?? 3000);
