import * as declarations from "../../src/api/registry.ts";
import { buildOpenApi, type DocumentedService, type Server } from "../../src/derive/openapi.ts";
import type { Cluster } from "../world/clusters.ts";
import type { ControlHandlers } from "./world.ts";

/** The documents; `/docs` and `/openapi.json` are paths like any other (DECISIONS.md, R17). */
export const openApiHandlers = {
  "emulator.openapi": ({ params }, { clusters, request }) => {
    const name = params.document.replace(/\.json$/, "") as DocumentedService;
    return { openapi: "3.1.0", ...documentOf(name), servers: serversOf(name, clusters, request.origin) };
  },
} satisfies ControlHandlers;

const documents = new Map<DocumentedService, ReturnType<typeof buildOpenApi>>();

/** Made once: it takes long, and anybody may ask for it, as often as they like. */
function documentOf(name: DocumentedService): ReturnType<typeof buildOpenApi> {
  const known = documents.get(name) ?? buildOpenApi(name, declarations);
  documents.set(name, known);
  return known;
}

/** Where the service answers, as the caller reaches this emulator: by the same name, if another port. */
function serversOf(name: DocumentedService, clusters: readonly Cluster[], origin: string): readonly Server[] {
  if (name !== "contracts") return [{ url: origin, description: "This emulator" }];
  return clusters.map(({ id, url, reachedAt, external }) => ({
    url: external || url !== reachedAt ? url : withHostOf(origin, url),
    description: `Cluster ${id}${external ? ", which is external" : ""}`,
  }));
}

function withHostOf(origin: string, url: string): string {
  const address = new URL(url);
  address.hostname = new URL(origin).hostname;
  return address.origin;
}
