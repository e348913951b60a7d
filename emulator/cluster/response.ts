import { findRepeatedField, parseFields, parseForm, parseJsonObject } from "../http/bodies/fields.ts";
import { exceedsFieldLimit } from "../http/bodies/json.ts";
import type { ReceivedRequest } from "../http/handler.ts";
import type { HtmlPage } from "../http/page.ts";
import { createJsonPassthrough, createPassthrough, type Passthrough } from "../http/reply.ts";
import type { IndexQuery, Rows, View } from "../store/port.ts";

type Headers = Readonly<Record<string, string>>;

export const createPageResponse = (status: number, { text, headers }: HtmlPage): Passthrough =>
  createPassthrough(status, { "content-type": "text/html; charset=utf-8", ...headers }, text);

/** Creates a redirect. The location only contains URI characters, so it cannot inject headers. */
export const createRedirect = (location: string, headers: Headers = {}): Passthrough =>
  createPassthrough(302, { location, "cache-control": "no-store", ...headers }, "");

/** Creates an error response (RFC 6749, 5.2). */
export const createOAuthError = (error: string, error_description: string, headers: Headers = {}, status = 400) =>
  createJsonPassthrough(status, { error, error_description }, { "cache-control": "no-store", ...headers });

/** Parameters of a paged list, and its response (DECISIONS.md, F18). */
interface Paging {
  readonly page: number;
  readonly limit: number;
}

interface Page<Row> extends Paging {
  readonly total_results: number;
  readonly results: Row[];
}

export function paginateList<Row>(rows: readonly Row[], { page, limit }: Paging): Page<Row> {
  const start = (page - 1) * limit;
  return { page, limit, total_results: rows.length, results: rows.slice(start, start + limit) };
}

/** Returns a page of a slice of a collection. Only the rows of the page are read. */
export function paginateSlice<Row extends object, Index extends string>(
  view: View,
  collection: Rows<Row, Index>,
  slice: Omit<IndexQuery<Index>, "offset" | "limit">,
  { page, limit }: Paging,
): Page<Row> {
  return {
    page,
    limit,
    total_results: view.count(collection, slice),
    results: [...view.list(collection, { ...slice, offset: (page - 1) * limit, limit })],
  };
}

export const mapPage = <Row, Result>(page: Page<Row>, toRecord: (row: Row) => Result): Page<Result> => ({
  ...page,
  results: page.results.map(toRecord),
});

export type OAuthParameters = Readonly<Record<string, string>>;

/** Reads the query of a GET, otherwise a form or a JSON object (DECISIONS.md, R5). */
export function readOAuthParameters(request: ReceivedRequest): OAuthParameters {
  if (request.method === "GET") {
    const { search } = request.parsedTarget;
    return exceedsFieldLimit(search) ? {} : dropEmpty([...new URLSearchParams(search)]);
  }
  const form = parseForm(request);
  return dropEmpty(form ? [...form] : Object.entries(parseJsonObject(request.body) ?? {}));
}

export function findRepeatedParameter(request: ReceivedRequest): string | undefined {
  const encodedFields = request.method === "GET" ? request.parsedTarget.search : parseForm(request)?.toString();
  return encodedFields === undefined || exceedsFieldLimit(encodedFields)
    ? undefined
    : findRepeatedField(parseFields(encodedFields));
}

export const formatRepeatedParameter = (name: string): string => `${name} is repeated`;

/** An empty parameter counts as missing (RFC 6749, 3.1). */
function dropEmpty(pairs: readonly (readonly [string, unknown])[]): OAuthParameters {
  const parameters: Record<string, string> = Object.create(null);
  for (const [name, value] of pairs) if (typeof value === "string" && value !== "") parameters[name] = value;
  return parameters;
}
