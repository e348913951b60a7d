import * as z from "zod";
import { assumed } from "../../basis.ts";
import { controlRoles } from "../../control-roles.ts";
import { empty, json, operation } from "../../operation.ts";
import { emulator } from "../../services.ts";

const ours = assumed("The console is the emulator's own.");

export const makeSessionCode = operation({
  id: "sessions.code",
  service: emulator,
  summary: "Make a code that signs a browser in to the console, once",
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
          .describe("The page of the console, signed in by the code in its fragment, which no server is sent"),
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
  summary: "Exchange a code of the console for a session",
  description:
    "The session token has the role of the token that opened it, until that token is revoked, twelve hours have passed, or the session or the emulator ends. It works only together with the cookie that comes with it: browsers send a cookie to every port of this machine, and a script may read what a page stores.",
  method: "POST",
  path: "/_emulator/sessions",
  auth: "none",
  request: {
    body: json(z.object({ code: z.string().max(200).describe("Code from the address that svc emulator open prints") })),
  },
  responses: {
    201: json(
      z.strictObject({
        token: z.string().describe("For the header authorization, after `Bearer `"),
        role: z.enum(controlRoles).describe("What it may do: that of the token that it was opened with"),
        instance_id: z.string().describe("Of the emulator with which the session ends"),
      }),
    ),
  },
  failures: ["session-code-refused"],
  cli: { command: "emulator console session" },
  basis: ours,
  examples: [{ title: "As the page does", body: { code: "c0de" } }],
});

export const endSession = operation({
  id: "sessions.end",
  service: emulator,
  summary: "Sign out of the console",
  description:
    "Ends the session of the request. With a token of the control plane it ends all sessions that the token opened, and its codes. With a token of the role admin it ends all sessions.",
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
