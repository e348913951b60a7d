import type { HtmlPage } from "../http/page.ts";
import { Passthrough } from "../http/reply.ts";

type Headers = Readonly<Record<string, string>>;

export const json = (status: number, body: unknown, headers: Headers = {}): Passthrough =>
  new Passthrough(
    status,
    Object.entries({ "content-type": "application/json", ...headers }).flat(),
    Buffer.from(JSON.stringify(body)),
  );

export const pageAnswer = (status: number, { text, headers }: HtmlPage): Passthrough =>
  new Passthrough(
    status,
    Object.entries({ "content-type": "text/html; charset=utf-8", ...headers }).flat(),
    Buffer.from(text),
  );

/** A redirect; the location holds nothing but characters of a URI, so it cannot end the header. */
export const redirect = (location: string, headers: Headers = {}): Passthrough =>
  new Passthrough(302, Object.entries({ location, "cache-control": "no-store", ...headers }).flat(), Buffer.alloc(0));

/** RFC 6749, 5.2 */
export const oauthError = (error: string, description: string, headers: Headers = {}, status = 400): Passthrough =>
  json(status, { error, error_description: description }, { "cache-control": "no-store", ...headers });
