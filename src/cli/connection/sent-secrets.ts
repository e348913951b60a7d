import { secretsInUrl } from "../../api/secrets.ts";
import type { HttpRequest } from "../../client/request.ts";
import type { Host } from "../host.ts";
import { isSecretField } from "./redact.ts";

/** What a service echoes in its answer was sent shortly before. */
const remembered = 50;
/** Longer bodies are files and jobs; nothing echoes them. */
const longestBody = 64 * 1024;
/** Shorter ones are part of ordinary words. */
const shortestSecret = 6;

type Sent = Pick<HttpRequest, "url" | "headers" | "body">;

/** By run: each has a host of its own. */
const requests = new WeakMap<Host, Sent[]>();

/** Remembers a request, so that its secrets can be kept out of what is printed about it. */
export function rememberSentSecrets(host: Host, request: Sent): void {
  const sent = requests.get(host) ?? [];
  requests.set(host, sent);
  sent.push(request);
  if (sent.length > remembered) sent.shift();
}

/** The text without any secret that this run has sent: services and receivers echo what they refuse. */
export function redactSentSecrets(host: Host, text: string): string {
  const sent = requests.get(host);
  if (!sent) return text;
  const secrets = new Set(sent.flatMap(secretsIn).filter((secret) => secret.length >= shortestSecret));
  return [...secrets].reduce((shown, secret) => shown.replaceAll(secret, "[hidden]"), text);
}

/** A few headers, and only those of credentials: an address of the emulator may be a credential nowhere. */
const credentialHeaders = ["authorization", "client-secret", "x-cluster-key", "cookie", "proxy-authorization"];

function secretsIn({ url, headers, body }: Sent): string[] {
  const given = credentialHeaders.flatMap((name) => headers[name] ?? []);
  const credentials = given.map((value) => value.replace(/^(?:bearer|basic) /i, ""));
  const password = /^basic (.+)$/i.exec(headers.authorization ?? "")?.[1];
  const pair =
    password === undefined
      ? []
      : [
          Buffer.from(password, "base64")
            .toString()
            .replace(/^[^:]*:/, ""),
        ];
  return [...credentials, ...pair, ...secretsInUrl(url), ...secretsInBody(body)];
}

function secretsInBody(body: Sent["body"]): string[] {
  if (typeof body !== "string" || body.length > longestBody) return [];
  try {
    return secretsInValue("", JSON.parse(body));
  } catch {
    return secretsInUrl(`?${body}`);
  }
}

function secretsInValue(name: string, value: unknown): string[] {
  if (typeof value === "string") return isSecretField(name) ? [value] : [];
  if (typeof value !== "object" || value === null) return [];
  const isList = Array.isArray(value);
  return Object.entries(value).flatMap(([key, inner]) => secretsInValue(isList ? name : key, inner));
}
