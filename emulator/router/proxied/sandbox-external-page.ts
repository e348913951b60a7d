import { Passthrough } from "../../http/reply.ts";
import type { Cluster } from "../../world/clusters.ts";

/**
 * A browser that shows the answer does so in an origin of its own, with scripts and forms: on the router's the page of
 * a back end that we do not run could read the console's session (DECISIONS.md, E13).
 */
const apart = [
  "content-security-policy",
  "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts allow-top-navigation",
] as const;

/** What no browser ever takes for a page. */
const json = /^application\/json\s*(?:;\s*charset\s*=\s*"?[\w-]+"?\s*)?$/i;

/** The answer of a cluster as it is handed on: as it came, but a page of an external one is kept from our origin. */
export function sandboxExternalPage({ external }: Pick<Cluster, "external">, answer: Passthrough): Passthrough {
  if (!external || isJson(answer.rawHeaders)) return answer;
  // One more policy: browsers keep to it and to those of the cluster.
  return new Passthrough(answer.status, [...answer.rawHeaders, ...apart], answer.body);
}

/** Of several content types browsers choose by rules of their own. */
function isJson(rawHeaders: readonly string[]): boolean {
  const types = rawHeaders.filter((_, i, all) => i % 2 === 1 && all[i - 1]!.toLowerCase() === "content-type");
  return types.length === 1 && json.test(types[0]!);
}
