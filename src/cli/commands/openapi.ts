import { type Command, type Context, defineCommand } from "../command.ts";
import { serviceSettings } from "../settings.ts";

const services = ["router", "contracts", "emulator"] as const;

const openapi = defineCommand({
  words: ["openapi"],
  prints: "content",
  summary: "Print the OpenAPI 3.1 document of a service",
  description: "The server is the one that commands use here, or an emulator with default addresses.",
  positionals: [{ name: "service", description: services.join(", "), choices: services }],
  flags: [],
  examples: [{ title: "For a code generator", argv: ["openapi", "contracts"] }],
  async run(input, { globals, host, output }) {
    const [{ buildOpenApi }, declarations] = await Promise.all([
      import("../../derive/openapi.ts"),
      import("../../api/registry.ts"),
    ]);
    const service = input.positionals.service as (typeof services)[number];
    const document = buildOpenApi(service, declarations);
    const server = await serverOf(service, { globals, host });
    await output.document(server === undefined ? document : { ...document, servers: [server] }, 2);
    return undefined;
  },
});

/** Undefined: nothing here says where the service is. */
async function serverOf(service: (typeof services)[number], surroundings: Pick<Context, "globals" | "host">) {
  const { chosenBy, router, contracts } = await serviceSettings(surroundings);
  const url = service === "contracts" ? contracts : router;
  return (
    url && {
      url: url.value,
      description: chosenBy === "environment" ? "With the server of the environment" : `Of ${chosenBy}`,
    }
  );
}

export const commands: readonly Command[] = [openapi];
