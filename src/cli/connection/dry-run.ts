import type { Callable } from "../../api/operation.ts";
import { type Credentials, credentialHeaders } from "../../client/credentials.ts";
import { buildRequest } from "../../client/request.ts";
import type { Context } from "../command.ts";
import type { ParsedCall } from "../parse/arguments.ts";
import { shownHeader } from "./redact.ts";

/** Prints the request that would be sent; secrets are masked, the body is the caller's own. */
export async function printPlan(
  operation: Callable,
  call: ParsedCall,
  context: Context,
  given: Credentials = {},
): Promise<void> {
  const { output, globals } = context;
  // An emulator of this process is not started to print where it would have listened.
  const service = operation.service.name === "storage" ? "contracts" : operation.service.name;
  const target = globals.emulator
    ? { baseUrls: { [service]: "http://emulator" }, credentials: undefined }
    : await context.target(service);
  const withCredentials =
    target.credentials && credentialHeaders(operation, clusterOf(call), { ...target.credentials, ...given });
  const open: Callable = { ...operation, auth: "none" };
  const { method, url, headers, body } = buildRequest(open, call.args, target.baseUrls, {}, call);
  const shown = Object.fromEntries(
    Object.entries({ ...headers, ...withCredentials }).map(([name, value]) => [name, shownHeader(name, value)]),
  );
  const content = typeof body === "string" ? call.args.body : body === undefined ? undefined : "[bytes]";
  if (output.format !== "table") {
    return output.show({
      dry_run: true,
      method,
      url,
      headers: shown,
      ...(content === undefined ? {} : { body: content }),
    });
  }
  const lines = Object.entries(shown).map(([name, value]) => `${name}: ${value}`);
  await output.print(`${method} ${url}`, ...lines, ...(content === undefined ? [] : [""]));
  if (typeof content === "string") await output.content([Buffer.from(`${content}\n`)], true);
  else if (content !== undefined) await output.document(content, 2);
  await output.note("Dry run: nothing was sent");
}

function clusterOf({ args }: ParsedCall): string | undefined {
  const named = args.params?.cluster_id ?? (args.body as Record<string, unknown> | null | undefined)?.cluster_id;
  return typeof named === "string" ? named : undefined;
}
