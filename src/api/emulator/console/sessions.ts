import * as z from "zod";
import { assumed } from "../../basis.ts";
import { controlRoles } from "../../control-roles.ts";
import { empty, json, operation } from "../../operation.ts";
import { emulator } from "../../services.ts";

const ours = assumed("The console is part of the emulator.");

export const makeSessionCode = operation({
  id: "sessions.code",
  service: emulator,
  summary: "Create a one-time sign-in code for the console",
  method: "POST",
  path: "/_emulator/sessions/codes",
  auth: "control-token",
  role: "read",
  request: {},
  responses: {
    201: json(
      z.strictObject({
        code: z.string(),
        url: z
          .url()
          .describe("URL of the console with the code in its fragment, which browsers do not send to servers"),
        expires_in: z.int().describe("Seconds of wall time"),
      }),
    ),
  },
  failures: [],
  cli: { by: "emulator open" },
  basis: ours,
  examples: [],
});

export const beginSession = operation({
  id: "sessions.begin",
  service: emulator,
  summary: "Exchange a console code for a session",
  description:
    "The session token has the role of the token that opened it. It is valid until that token is revoked, twelve hours have passed, or the session or the emulator ends. It works only together with its cookie: browsers send a cookie to every port of this machine, and scripts can read the storage of a page.",
  method: "POST",
  path: "/_emulator/sessions",
  auth: "none",
  request: {
    body: json(z.object({ code: z.string().max(200).describe("Code from the address that svc emulator open prints") })),
  },
  responses: {
    201: json(
      z.strictObject({
        token: z.string().describe("Value for the header authorization, after `Bearer `"),
        role: z.enum(controlRoles).describe("Role of the session, that of the token that opened it"),
        instance_id: z.string().describe("ID of the emulator that the session belongs to"),
      }),
    ),
  },
  failures: ["session-code-refused"],
  cli: { command: "emulator console session" },
  basis: ours,
  examples: [{ title: "Exchange a code for a session", body: { code: "c0de" } }],
});

export const endSession = operation({
  id: "sessions.end",
  service: emulator,
  summary: "Sign out of the console",
  description:
    "Ends the session of the request. A token of the control plane ends its own sessions and codes. A token with the role admin ends all sessions.",
  method: "DELETE",
  path: "/_emulator/sessions",
  auth: "control-token",
  role: "read",
  request: {},
  responses: { 204: empty() },
  failures: [],
  cli: { command: "emulator console sign-out" },
  basis: ours,
  examples: [{ title: "Sign out every browser" }],
});
