import type { IncomingMessage } from "node:http";
import { isObject } from "../../../../base/object.ts";

export type Fields = Readonly<Record<string, string>>;

/** One request of the flow, as sent by the client. */
export interface OAuthRequest {
  /** Monotonic milliseconds of the observation. */
  readonly at: number;
  /** The earliest possible arrival. */
  readonly earliestAt: number;
  readonly method: string;
  readonly encoding: "form" | "json" | "other";
  /** Parameters of the body; undefined if it is unreadable. */
  readonly fields: Fields | undefined;
  readonly query: Fields;
  /** Whether the client authenticates by a header, so that client_id is optional. */
  readonly isAuthenticated: boolean;
  readonly contentType: string;
  /** The response to a device authorization. */
  readonly status?: number;
}

export function parseOAuthRequest(
  { method = "", url = "/", headers }: IncomingMessage,
  body: Buffer,
  times: Pick<OAuthRequest, "at" | "earliestAt">,
): OAuthRequest {
  const contentType = headers["content-type"] ?? "";
  const text = body.toString("utf8");
  const type = contentType.split(";")[0]!.trim().toLowerCase();
  const json = type === "application/json" ? parseFields(text) : undefined;
  const isFormEncoded = type === "application/x-www-form-urlencoded";
  return {
    ...times,
    method,
    contentType,
    encoding: isFormEncoded ? "form" : json ? "json" : "other",
    fields: isFormEncoded ? Object.fromEntries(new URLSearchParams(text)) : json,
    query: Object.fromEntries(new URL(url, "http://localhost").searchParams),
    isAuthenticated: headers.authorization !== undefined,
  };
}

function parseFields(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (!isObject(value)) return undefined;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, String(member)]));
  } catch {
    return undefined;
  }
}
