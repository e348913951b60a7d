import { quoted } from "../api/command-line.ts";
import type { Request } from "../state/requests.ts";

/** Headers that the sender's program adds by itself, or that say what a browser was about. */
const own = new Set([
  "host",
  "connection",
  "content-length",
  "accept-encoding",
  "transfer-encoding",
  "user-agent",
  "origin",
  "referer",
  "dnt",
  "priority",
  "pragma",
  "cache-control",
  "accept-language",
  "upgrade-insecure-requests",
]);
const isOwn = (name: string): boolean => own.has(name) || /^(?:sec|proxy)-/.test(name);
/** What the log says of a value that may be a secret. */
const hidden = "[redacted]";
const secrets = new Map([
  ["client-id", "$SVC_CLIENT_ID"],
  ["client-secret", "$SVC_CLIENT_SECRET"],
  ["x-cluster-key", "$SVC_CLUSTER_KEY"],
  ["authorization", "$AUTHORIZATION"],
]);

const hasBody = ({ headers }: Request): boolean =>
  headers["content-type"] !== undefined && headers["content-length"] !== "0";

/** The same request for curl; secrets come from the environment, a body from a file: the log has neither. */
export function asCurl(request: Request, base: string): string {
  const headers = Object.entries(request.headers)
    .filter(([name, value]) => !isOwn(name) && (value !== hidden || secrets.has(name)))
    .map(([name, value]) => {
      const known = secrets.get(name);
      return known === undefined ? ` -H ${quoted(`${name}: ${value}`)}` : ` -H "${name}: ${known}"`;
    });
  const body = hasBody(request) ? " --data-binary @body.json" : "";
  return `curl -X ${request.method}${headers.join("")}${body} ${quoted(base + request.target)}`;
}

/** The same request for the command line, which adds the credentials of its service. */
export const asCommand = (request: Request): string =>
  `svc api ${request.method} ${quoted(request.target)}${hasBody(request) ? " --data body.json" : ""}`;
