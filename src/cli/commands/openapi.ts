import { resolve } from "node:path";
import { createTextFlag } from "../../derive/command-spec.ts";
import { addObservations, buildOpenApi } from "../../derive/openapi.ts";
import { loadObservations } from "../../verify/observed/observations.ts";
import { type Command, defineCommand } from "../command.ts";
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
    const { host, output, signal } = context;
    const { service } = input.positionals;
    const { observed } = input.flags;
    let document: object = buildOpenApi(service, await import("../../api/registry.ts"));
    if (observed !== undefined) {
      const { startEmulator } = await import("../../../emulator/index.ts");
      const loading = loadObservations(resolve(host.cwd, observed), startEmulator, signal);
      document = addObservations(document, (await loading.catch(throwCorpusError("--observed"))).seen);
    }
    const { chosenBy, router, contracts } = await resolveServiceSettings(context);
    const url = service === "contracts" ? contracts : router;
    const description = `From ${chosenBy === "environment" ? "the environment" : chosenBy}`;
    await output.printDocument(url ? { ...document, servers: [{ url: url.value, description }] } : document, 2);
  },
});

export const commands: readonly Command[] = [openapi];
