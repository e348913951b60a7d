import type { IncomingMessage } from "node:http";
import { isObject } from "../../../../base/object.ts";

export type Fields = Readonly<Record<string, string>>;

/** One request of the flow, as the client sent it. */
export interface OAuthRequest {
  /** Monotonic milliseconds at which it was seen. */
  readonly at: number;
  /** At which it can have arrived at the earliest. */
  readonly earliestAt: number;
  readonly method: string;
  readonly encoding: "form" | "json" | "other";
  /** Parameters of the body; undefined if it is unreadable. */
  readonly fields: Fields | undefined;
  readonly query: Fields;
  /** The client authenticates by a header, so client_id may be missing. */
  readonly isAuthenticated: boolean;
  readonly contentType: string;
  /** How a device authorization was answered. */
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
  const isForm = type === "application/x-www-form-urlencoded";
  return {
    ...times,
    method,
    contentType,
    encoding: isForm ? "form" : json ? "json" : "other",
    fields: isForm ? Object.fromEntries(new URLSearchParams(text)) : json,
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
