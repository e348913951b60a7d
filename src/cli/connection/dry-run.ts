import type { CheckedCall } from "../../client/checked-call.ts";
import type { Credentials } from "../../client/credentials.ts";
import { buildRequest } from "../../client/request.ts";
import type { Context } from "../command.ts";
import { maskBodySecrets, maskUrlSecrets, redactHeader } from "./redact.ts";

/**
 * Prints the request that would be sent. Plans end in logs of pipelines: credentials are masked, and so are the secrets
 * of path, query and body, by their declared names.
 */
export async function printPlan(
  call: CheckedCall,
  contentType: string | undefined,
  context: Context,
  given: Credentials = {},
): Promise<void> {
  const { output, globals } = context;
  // An emulator of this process is not started to print where it would have listened.
  const { name } = call.operation.service;
  const service = name === "storage" ? "contracts" : name;
  const target = globals.emulator
    ? { baseUrls: { [service]: "http://emulator" }, credentials: undefined }
    : await context.target(service);
  const credentials = target.credentials && { ...target.credentials, ...given };
  const { method, url: whole, headers, body } = buildRequest(call, target.baseUrls, credentials, { contentType });
  const url = maskUrlSecrets(whole);
  const shown = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, redactHeader(name, value)]));
  const content =
    typeof body === "string" ? maskBodySecrets(call.args.body) : body === undefined ? undefined : "[bytes]";
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
