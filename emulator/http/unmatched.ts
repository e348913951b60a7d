import type { Operation } from "../../src/api/operation.ts";
import { type Answer, jsonAnswer } from "./answer.ts";
import type { Bound } from "./bind.ts";
import { type Dialect, spelled } from "./dialects/dialect.ts";
import { nearestOperation } from "./request-log/nearest.ts";
import type { RouteMatch, Routes } from "./routes.ts";

export const methodsOf = (bounds: readonly Bound[]): string[] => [
  ...new Set(bounds.flatMap(({ operation }) => [operation.method].flat())),
];

/** The operation that the same path with the other slash would have meant, of those services that care. */
export function otherSlash(routes: Routes, method: string, path: string): (RouteMatch & { path: string }) | undefined {
  const toggled = path.endsWith("/") ? path.slice(0, -1) : `${path}/`;
  const found = routes.find(method, toggled);
  return found?.bound.operation.service.slashes === "redirect" ? { ...found, path: toggled } : undefined;
}

/** DECISIONS.md, C3. The location is relative, so that it holds behind any name of this host. */
export function redirectTo(path: string, search: string): Answer {
  const location = path.split("/").map(encodeURIComponent).join("/");
  return { status: 302, headers: ["location", search === "" ? location : `${location}?${search}`], body: undefined };
}

/** A browser asks before it uploads from a page of another site (DECISIONS.md, P17). */
export const preflight = (methods: readonly string[]): Answer => ({
  status: 204,
  headers: [
    ...["access-control-allow-origin", "*"],
    ...["access-control-allow-methods", methods.join(", ")],
    ...["access-control-allow-headers", "content-type"],
    ...["access-control-max-age", "600"],
  ],
  body: undefined,
});

/** The 404 of a service, with what the caller may have meant in a header. */
export function notFound(dialect: Dialect, method: string, path: string, bounds: readonly Bound[]): Answer {
  const nearest = nearestOf(method, path, bounds);
  const answer = dialect.notFound(nearest);
  if (!nearest) return answer;
  return { ...answer, headers: [...answer.headers, "x-svc-nearest", `${nearest.id} ${spelled(nearest)}`] };
}

const nearestOf = (method: string, path: string, bounds: readonly Bound[]): Operation | undefined =>
  nearestOperation(
    method,
    path,
    bounds.filter(({ isCatchAll }) => !isCatchAll).map(({ operation }) => operation),
  );

const errorBody = (isControl: boolean, code: string, message: string) =>
  isControl ? { error: { code, message } } : { detail: message };

export const forbidden = (isControl: boolean, message: string): Answer =>
  jsonAnswer(403, errorBody(isControl, "forbidden", message));

/** The rest of the body is not waited for, so nothing else can come on this connection. */
export const tooLate = (isControl: boolean): Answer =>
  jsonAnswer(408, errorBody(isControl, "request_timeout", "The rest of the request did not come in time."), [
    "connection",
    "close",
  ]);

/** `GET *`, `ftp://host/`: no server could find anything there (RFC 9112, 3.2). */
export const noTarget: Answer = jsonAnswer(400, { detail: "The target of a request is a path, or an http URL." });

export const notReady: Answer = jsonAnswer(503, { detail: "The emulator is starting." }, ["retry-after", "1"]);
