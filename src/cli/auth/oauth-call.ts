import { fieldsOf } from "../../base/object.ts";
import type { Client } from "../../client/client.ts";
import { parseJson } from "../../client/json-text.ts";
import { readBodyText as bodyText } from "../../client/response.ts";
import type { Context } from "../command.ts";
import { openClient } from "../connection/http.ts";
import { CommandFailedError } from "../failure.ts";

/** What an OAuth endpoint said: the members of its JSON object, none when it sent something else. */
export interface OAuthResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly fields: Readonly<Record<string, unknown>>;
  /** `error` of RFC 6749, 5.2. Read from the body whatever the status: servers differ (DECISIONS.md, P1). */
  readonly error: string | undefined;
}

export type OAuthFields = Readonly<Record<string, string | undefined>>;

/** A client for OAuth endpoints, which lie at any address. It is closed at the end of the run. */
export async function oauthClient({ host, globals, output, atEnd }: Context): Promise<Client> {
  const client = await openClient({ host, globals, output, baseUrls: {}, credentials: {} });
  atEnd(() => client.close());
  return client;
}

/** Posts fields once, never again by itself. Throws NetworkError; refusals are answers. */
export async function oauthPost(
  client: Client,
  url: string,
  encoding: "json" | "form",
  fields: OAuthFields,
  signal: AbortSignal,
): Promise<OAuthResponse> {
  const given = Object.entries(fields).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const body = encoding === "json" ? JSON.stringify(Object.fromEntries(given)) : String(new URLSearchParams(given));
  const type = encoding === "json" ? "application/json" : "application/x-www-form-urlencoded";
  const headers = { "content-type": type, accept: "application/json" };
  return read(await client.exchange({ method: "POST", url, headers, body }, { signal, retries: 0 }));
}

/** Gets a document of metadata, with the usual retries. */
export async function oauthGet(client: Client, url: string, signal: AbortSignal): Promise<OAuthResponse> {
  const headers = { accept: "application/json" };
  return read(await client.exchange({ method: "GET", url, headers, body: undefined }, { signal }));
}

async function read({ status, headers, body }: Awaited<ReturnType<Client["exchange"]>>): Promise<OAuthResponse> {
  const fields = objectOf(await bodyText(body));
  return { status, headers, fields, error: toNonEmptyString(fields.error) };
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return fieldsOf(parseJson(text));
  } catch {
    return {};
  }
}

/** A member that is text and not empty. */
export const toNonEmptyString = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : undefined;

/** A hundred years: a longer lifetime has no use, and a date may not be able to hold its end. */
const maxSeconds = 100 * 365 * 24 * 60 * 60;

/** A number of seconds, also where a server writes it as text; undefined for a negative one. */
export function toSeconds(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && number >= 0 ? Math.min(number, maxSeconds) : undefined;
}

/** What an endpoint refused, in its own words as far as they can be printed. */
export function createOAuthError(what: string, { status, fields, error }: OAuthResponse): CommandFailedError {
  const own = toNonEmptyString(fields.error_description) ?? error ?? `status ${status}`;
  const clean = own.replace(/[^\x20-\x7e]/g, " ").slice(0, 300);
  const isTrouble = status >= 500 || status === 429;
  const isUnknown = error === "invalid_client" || status === 401 || status === 403;
  const hint = isTrouble
    ? "The server has a problem. Try again later."
    : isUnknown
      ? "Check --client-id. To create a client, run svc auth create-client."
      : "Check that the address is the routing service's or that of an OAuth server.";
  return new CommandFailedError(
    isTrouble ? "temporary" : error === undefined && !isUnknown ? "failed" : "forbidden",
    error ?? `http_${status}`,
    `${what} failed (HTTP ${status}): ${clean}`,
    { hint },
  );
}
