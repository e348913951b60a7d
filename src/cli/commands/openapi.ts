import { resolve } from "node:path";
import { createTextFlag } from "../../derive/command-spec.ts";
import { addObservations, buildOpenApi } from "../../derive/openapi.ts";
import { loadObservations } from "../../verify/observed/observations.ts";
import { type Command, type Context, defineCommand } from "../command.ts";
import { resolveServiceSettings } from "../connection/resolve-settings.ts";
import { throwCorpusError } from "./verify/recording.ts";

const services = ["router", "contracts", "emulator"] as const;

const openapi = defineCommand({
  words: ["openapi"],
  sendsNothing: true,
  prints: "content",
  summary: "Print the OpenAPI 3.1 document of a service",
  description: "The server is the one that commands use here, or an emulator with default addresses.",
  positionals: [{ name: "service", description: "Service of the document", choices: services }],
  flags: [createTextFlag("observed", "FOLDER", "Mark the observations of this svc verify corpus")],
  examples: [
    ["Print the document for a code generator", "openapi contracts"],
    ["Include the observations of a corpus", "openapi contracts --observed corpus"],
  ],
  async run(input, context) {
    const { globals, host, output } = context;
    const declarations = await import("../../api/registry.ts");
    const service = input.positionals.service as (typeof services)[number];
    const { observed } = input.flags;
    const declaredDocument = buildOpenApi(service, declarations);
    const document =
      observed === undefined ? declaredDocument : await annotateDocument(declaredDocument, observed, context);
    const server = await findServer(service, { globals, host });
    await output.printDocument(server === undefined ? document : { ...document, servers: [server] }, 2);
  },
});

async function annotateDocument(document: object, folder: string, { host, signal }: Context): Promise<object> {
  const { startEmulator } = await import("../../../emulator/index.ts");
  const loading = loadObservations(resolve(host.cwd, folder), startEmulator, signal);
  return addObservations(document, (await loading.catch(throwCorpusError("--observed"))).seen);
}

async function findServer(service: (typeof services)[number], surroundings: Pick<Context, "globals" | "host">) {
  const { chosenBy, router, contracts } = await resolveServiceSettings(surroundings);
  const url = service === "contracts" ? contracts : router;
  return url && { url: url.value, description: `From ${chosenBy === "environment" ? "the environment" : chosenBy}` };
}

export const commands: readonly Command[] = [openapi];
