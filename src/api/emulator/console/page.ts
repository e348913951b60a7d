import * as z from "zod";
import { assumed } from "../../basis.ts";
import { bytes, html, operation } from "../../operation.ts";
import { emulator } from "../../services.ts";

const ours = assumed("The console is part of the emulator.");

export const showConsolePage = operation({
  id: "console.page",
  service: emulator,
  summary: "Show the page of the console",
  description:
    "The page contains no state. It requests its data with the session of its user. `svc emulator open` opens it.",
  method: "GET",
  path: "/_emulator/ui/",
  auth: "none",
  request: {},
  responses: { 200: html() },
  failures: [],
  cli: { command: "emulator console page" },
  basis: ours,
  examples: [{ title: "Save the page" }],
});

export const showConsoleAsset = operation({
  id: "console.asset",
  service: emulator,
  summary: "Get a file of the console page",
  description: "The name changes with the content, so browsers may cache the file forever.",
  method: "GET",
  path: "/_emulator/ui/assets/{name}",
  auth: "none",
  request: { params: z.object({ name: z.string().describe("Name of the asset, as the page links to it") }) },
  responses: { 200: bytes("application/octet-stream") },
  failures: ["no-such-asset"],
  cli: { command: "emulator console asset" },
  basis: ours,
  examples: [{ title: "Get the script of the page", params: { name: "icon-5XJ2K7QD.svg" } }],
});
