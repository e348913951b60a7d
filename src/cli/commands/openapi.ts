import { type Command, command } from "../command.ts";

const services = ["router", "contracts", "emulator"] as const;

const openapi = command({
  words: ["openapi"],
  summary: "Print the OpenAPI 3.1 document of a service",
  positionals: [{ name: "service", description: services.join(", "), choices: services }],
  flags: [],
  examples: [{ title: "For a generator", argv: ["openapi", "contracts"] }],
  async run(input, { output }) {
    const [{ buildOpenApi }, declarations] = await Promise.all([
      import("../../derive/openapi.ts"),
      import("../../api/registry.ts"),
    ]);
    const document = buildOpenApi(input.positionals.service as (typeof services)[number], declarations);
    await output.document(document, 2);
    return undefined;
  },
});

export const commands: readonly Command[] = [openapi];
