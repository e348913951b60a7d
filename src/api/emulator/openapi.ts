import * as z from "zod";
import { assumed } from "../basis.ts";
import { json, operation } from "../operation.ts";
import { emulator } from "../services.ts";

const Documents = z.enum(["router.json", "contracts.json", "emulator.json"]);

export const openapi = operation({
  id: "emulator.openapi",
  service: emulator,
  summary: "Print the OpenAPI 3.1 document of a service",
  method: "GET",
  path: "/_emulator/openapi/{document}",
  auth: "none",
  request: { params: z.object({ document: Documents.describe("The service, as a file name") }) },
  responses: { 200: json(z.looseObject({ openapi: z.string() })) },
  failures: [],
  cli: { by: "openapi" },
  basis: assumed("The control plane is part of the emulator."),
  examples: [{ title: "Generate a client", params: { document: "contracts.json" } }],
});
