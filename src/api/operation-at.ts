import type { Operation } from "./operation.ts";

type Route = Pick<Operation, "method" | "path" | "lastTakesSlashes">;

/** The first of these operations that takes a request of this method and path, as it is sent: without its query. */
export const operationAt = <One extends Route>(operations: readonly One[], method: string, path: string) =>
  operations.find((one) => [one.method].flat().some((own) => own === method) && patternOf(one).test(path));

function patternOf({ path, lastTakesSlashes }: Route): RegExp {
  const segments = path.split("/").map((segment, at, all) => {
    if (!segment.startsWith("{")) return segment.replace(/[^\w/]/g, "\\$&");
    return lastTakesSlashes && at === all.length - 1 ? ".+" : "[^/]+";
  });
  return new RegExp(`^${segments.join("/")}$`);
}
