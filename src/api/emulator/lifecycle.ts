import * as z from "zod";
import { assumed } from "../basis.ts";
import { empty, json, operation } from "../operation.ts";
import { emulator } from "../services.ts";

const ours = assumed("The control plane is the emulator's own.");

const Readiness = z.strictObject({
  instance_id: z.string().describe("New at each start; tells one emulator from another on the same port"),
});

export const ready = operation({
  id: "emulator.ready",
  service: emulator,
  summary: "Say whether every listener and the state are up",
  method: "GET",
  path: "/_emulator/ready",
  auth: "none",
  request: {},
  responses: { 200: json(Readiness), 503: json(Readiness) },
  failures: [],
  cli: { command: "emulator ready" },
  basis: ours,
  examples: [{ title: "Is it up?" }],
});

export const stop = operation({
  id: "emulator.stop",
  service: emulator,
  summary: "Stop the emulator after what is due now is done",
  method: "POST",
  path: "/_emulator/stop",
  auth: "control-token",
  request: {},
  responses: { 202: empty() },
  failures: [],
  cli: { by: "emulator stop" },
  basis: ours,
  examples: [],
});
