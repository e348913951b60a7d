import type { Operation } from "./operation.ts";

type Route = Pick<Operation, "method" | "path" | "lastTakesSlashes">;

/** The first of these operations that takes a request of this method and path, as it is sent: without its query. */
export const operationAt = <One extends Route>(operations: readonly One[], method: string, path: string) =>
  operations.find((one) => [one.method].flat().some((own) => own === method) && fits(one, path.split("/")));

function fits({ path, lastTakesSlashes }: Route, given: readonly string[]): boolean {
  const declared = path.split("/");
  if (lastTakesSlashes ? given.length < declared.length : given.length !== declared.length) return false;
  return declared.every((segment, at) => (segment.startsWith("{") ? given[at] !== "" : segment === given[at]));
}
