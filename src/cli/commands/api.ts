import { findOperationAt, type Operation } from "../../api/operation.ts";
import { resources } from "../../api/resources.ts";
import { forwardAnything } from "../../api/router/proxied.ts";
import { restoreExactNumbers } from "../../base/json.ts";
import { tryParseJson } from "../../base/object.ts";
import { trimTrailing } from "../../base/text.ts";
import type { BaseUrls } from "../../client/published.d.ts";
import { buildCredentialHeaders } from "../../client/request.ts";
import { createServiceError, formatRequestPath, isFromCatchAll, readBytes } from "../../client/response.ts";
import { createSwitch, createTextFlag } from "../../derive/command-spec.ts";
import { type Command, defineCommand } from "../command.ts";
import { showPlannedRequest, unshownBody } from "../connection/http.ts";
import { requireBaseUrl } from "../connection/target.ts";
import { readInput } from "../parse/body.ts";
import { parseHeaderFlag } from "../parse/headers.ts";
import { UsageError } from "../process/failure.ts";
import { redactHeader } from "../process/redact.ts";

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

const api = defineCommand({
  words: ["api"],
  prints: "content",
  summary: "Send any request, with the credentials of its service",
  description:
    "Paths below /api/…/public/ go to the contract API, those below /_emulator/ to the control plane, and all others to the router, which forwards unknown paths. The response is printed unchanged. Redirects are not followed. A status of 400 or more exits as with other commands: svc help exit-codes.",
  positionals: [
    { name: "method", description: "HTTP method", choices: methods },
    { name: "path", description: "Path, with its query" },
  ],
  flags: [
    createTextFlag("data", "FILE|-", "Send this file as the body"),
    createTextFlag("content-type", "TYPE", "Content type of the body", { default: "application/json" }),
    createTextFlag("header", "NAME:VALUE", "Add a header", { short: "H", repeatable: true }),
    createSwitch("include", "Print status and headers before the body", { short: "i" }),
    createSwitch("dry-run", "Print the request without sending it", { short: "n" }),
  ],
  examples: [
    ["Request a path that no command covers", "api GET '/api/v1/anything?email=jo@acme.example'"],
    [
      "Send a body from a pipe",
      "api POST /router/v1/trial/signup --data -",
      '{"email":"ada@example.com","captcha":"pass"}',
    ],
  ],
  async run(input, context) {
    if (/^https?:\/\//i.test(input.positionals.path)) {
      throw new UsageError("<path> must be a path, got a URL", { hint: "For another address, use --base-url." });
    }
    const path = `/${input.positionals.path.replace(/^\//, "")}`;
    const { service, auth } = findService(path);
    const { baseUrls, credentials } = await context.target(service);
    const base = requireBaseUrl(baseUrls, service);
    const { data } = input.flags;
    const body = data === undefined ? undefined : await readInput(context.host, data, "--data");
    const request = {
      method: input.positionals.method,
      url: trimTrailing(base, "/") + path,
      headers: {
        accept: "*/*",
        ...(body ? { "content-type": input.flags["content-type"] ?? "application/json" } : {}),
        ...buildCredentialHeaders({ auth, service: { name: service } }, undefined, credentials),
        ...parseHeaderFlag(input.flags.header),
      },
      body,
    };
    if (input.flags["dry-run"]) {
      const text = body?.toString() ?? "";
      const document = tryParseJson(text);
      const shownBody = document === undefined ? body && unshownBody : restoreExactNumbers(text, document);
      await showPlannedRequest(request, shownBody, context);
      return undefined;
    }
    const client = await context.client(service);
    const response = await client.exchange(request, {}, (status) => (status < 400 ? "stream" : "whole"));
    if (input.flags.include) {
      const lines = Object.entries(response.headers).map(([name, value]) => `${name}: ${value}`);
      await context.output.print(String(response.status), ...lines, "");
    }
    if (response.status < 400) {
      await context.output.printContent(response.body, isText(response.headers["content-type"]));
      const { location } = response.headers;
      if (response.status >= 300 && location !== undefined)
        await context.output.note(`${response.status}, to ${redactHeader("location", location)}`);
      if (service === "router" && (await findOperation(service, request.method, path)) === undefined)
        await context.output.note(
          isFromCatchAll(response.headers)
            ? `${request.method} ${formatRequestPath(request)} is not an operation. The router forwarded it to the clusters`
            : `${request.method} ${formatRequestPath(request)} is not an operation of the router`,
        );
      return undefined;
    }
    const bytes = await readBytes(response.body);
    const text = bytes.toString();
    if (!context.globals.json) {
      const lineEnd = text.endsWith("\n") || text === "" ? "" : "\n";
      await context.output.printContent([bytes, Buffer.from(lineEnd)], true);
    }
    const operation = await findOperation(service, request.method, path);
    throw createServiceError((operation ?? forwardAnything).id, request, response, text);
  },
});

/** Reports whether the content is readable text. A body without a type counts as text. */
const isText = (type = "text/plain"): boolean => /^text\/|json|xml|javascript|urlencoded/i.test(type);

function findService(path: string): { service: keyof BaseUrls; auth: Operation["auth"] } {
  if (/^\/api\/v[\d.]+\/public\//.test(path)) return { service: "contracts", auth: "api-key" };
  if (path.startsWith("/_emulator/")) return { service: "emulator", auth: "control-token" };
  return { service: "router", auth: "cluster-key" };
}

/** Finds the operation that a path declares, other than the router's catch-all route. */
async function findOperation(service: keyof BaseUrls, method: string, path: string): Promise<Operation | undefined> {
  const ownResources = Object.entries(resources).filter(([name]) => name.startsWith(`${service}/`));
  const modules: readonly object[] = await Promise.all(ownResources.map(([, load]) => load()));
  const declaredOperations = modules.flatMap((module) => Object.values(module)).filter(isOperation);
  const otherOperations = declaredOperations.filter(({ id }) => id !== forwardAnything.id);
  return findOperationAt(otherOperations, method, path.split("?", 1)[0]!);
}

const isOperation = (value: unknown): value is Operation =>
  typeof value === "object" && value !== null && "responses" in value && "path" in value;

export const commands: readonly Command[] = [api];
