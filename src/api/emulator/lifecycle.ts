import * as z from "zod";
import { json, operation } from "../operation.ts";
import { emulator } from "../services.ts";

export const ready = operation({
  id: "emulator.ready",
  service: emulator,
  summary: "Say whether every listener and the state are up",
  method: "GET",
  path: "/_emulator/ready",
  auth: "none",
  request: {},
  responses: {
    200: json(z.strictObject({ instance_id: z.string() })),
    503: json(z.strictObject({ instance_id: z.string() })),
  },
  failures: [],
  cli: { command: "emulator ready" },
  basis: { assumed: "The control plane is the emulator's own." },
  examples: [],
});
