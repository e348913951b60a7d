import { listTemplates } from "../../../api/contracts/templates.ts";
import type { Operation } from "../../../api/operation.ts";
import { checkHealth } from "../../../api/router/proxied.ts";
import { toIsoSeconds } from "../../../base/clock.ts";
import { toFields } from "../../../base/object.ts";
import { describeDuration } from "../../../base/quantities.ts";
import { CheckedCall } from "../../../client/checked-call.ts";
import { ProxyError } from "../../../client/errors.ts";
import { readVirtualTime, requireValidValue } from "../../../client/response.ts";
import type { Context } from "../../command.ts";
import { findStaleVariablesHint } from "../../connection/emulator/emulator-variables.ts";
import { listProxyVariables, parseProxy, readProxies } from "../../connection/proxies.ts";
import { explainError } from "../../process/exit.ts";
import { type FailureKind, UsageError } from "../../process/failure.ts";

/** A greater clock skew invalidates signed addresses, codes and tokens. */
const maxClockSkewMs = 30_000;

type ServiceResponse = Exclude<Awaited<ReturnType<typeof requestService>>, Error>;

export async function checkServices(context: Context): Promise<CheckResult[]> {
  const target = await context.target("router").catch((error: Error) => error);
  if (target instanceof Error) {
    const { message, hint } = explainError(target);
    return [checkProxy(context, []), createFailedCheck("services", message, toFailureKind(target), hint)];
  }
  const { baseUrls, credentials, origin } = target;
  const router = baseUrls.router === undefined ? undefined : await requestService("router", checkHealth, context);
  const hasKey = Boolean(credentials.clientId && credentials.clientSecret);
  const contracts =
    baseUrls.contracts !== undefined && hasKey ? await requestService("contracts", listTemplates, context) : undefined;
  const requests = [
    { address: String(baseUrls.router), outcome: router },
    { address: String(baseUrls.contracts), outcome: contracts },
  ].filter(({ outcome }) => outcome !== undefined);
  return [
    checkProxy(context, requests),
    createPassedCheck("services", `Selected by ${origin}`),
    router === undefined
      ? createSkippedCheck("router", "No address is configured")
      : await checkRouter(String(baseUrls.router), router, context),
    await checkContracts(String(baseUrls.contracts), contracts, hasKey, context),
    checkClock(context, [router, contracts]),
  ];
}

async function requestService(service: "router" | "contracts", operation: Operation, context: Context) {
  const { wall } = context.host;
  const startedAt = wall.monotonicNow();
  try {
    const client = await context.client(service);
    const args = operation.request.query ? { query: {} } : {};
    const response = await client.send(CheckedCall.check(operation, args), { retries: 0 });
    return { headers: response.headers, value: requireValidValue(response), tookMs: wall.monotonicNow() - startedAt };
  } catch (error) {
    if (context.signal.aborted) throw error;
    return error as Error;
  }
}

async function reportFailedCheck(check: string, error: Error, context: Context): Promise<CheckResult> {
  const { message, hint } = explainError(error);
  return createFailedCheck(check, message, toFailureKind(error), findStaleVariablesHint(error, context) ?? hint);
}

async function checkRouter(address: string, response: ServiceResponse | Error, context: Context): Promise<CheckResult> {
  if (response instanceof Error) return reportFailedCheck("router", response, context);
  if (toFields(response.value).database !== false)
    return createPassedCheck("router", `${address} responds in ${response.tookMs} ms`);
  const hint =
    readVirtualTime(response.headers) === undefined
      ? undefined
      : "The emulator cannot store its state. Its log has the reason.";
  return createCheckWarning("router", `${address} responds, but its database is down`, hint);
}

async function checkContracts(
  address: string,
  response: ServiceResponse | Error | undefined,
  hasKey: boolean,
  context: Context,
): Promise<CheckResult> {
  if (response === undefined) {
    const missingSetting = hasKey ? "No address is configured" : "No API key is set (client_id and client_secret)";
    return createSkippedCheck("contract API", missingSetting);
  }
  if (response instanceof Error) return reportFailedCheck("contract API", response, context);
  return createPassedCheck("contract API", `${address} accepts the API key, in ${response.tookMs} ms`);
}

/** Reports the virtual time of an emulator. Compares the clock of another service with the local one. */
function checkClock({ host: { wall } }: Context, outcomes: readonly (ServiceResponse | Error | undefined)[]) {
  const responses = outcomes.filter((one): one is ServiceResponse => one !== undefined && !(one instanceof Error));
  const [virtualTime] = responses.flatMap(({ headers }) => readVirtualTime(headers) ?? []);
  if (virtualTime === undefined) return checkClockSkew(wall.now(), responses);
  const aheadMs = Math.round((virtualTime - wall.now()) / 1_000) * 1_000;
  const difference =
    aheadMs === 0
      ? "as on this machine"
      : `${describeDuration(Math.abs(aheadMs))} ${aheadMs > 0 ? "ahead of" : "behind"} this machine`;
  return createPassedCheck("clock", `Virtual time of the emulator: ${toIsoSeconds(virtualTime)}, ${difference}`);
}

/** Compares the Date header with the local clock. HTTP dates have whole seconds. */
function checkClockSkew(now: number, responses: readonly ServiceResponse[]): CheckResult {
  const datedAnswer = responses.find(({ headers }) => Boolean(headers.date));
  const serverTime = datedAnswer === undefined ? Number.NaN : Date.parse(datedAnswer.headers.date!);
  if (Number.isNaN(serverTime)) return createSkippedCheck("clock", "No service reported its time");
  const seconds = Math.round((now - serverTime) / 1_000);
  const detail =
    seconds === 0
      ? "agrees with the service"
      : `${Math.abs(seconds)} s ${seconds > 0 ? "ahead of" : "behind"} the service`;
  return Math.abs(seconds) * 1_000 > maxClockSkewMs
    ? createCheckWarning("clock", detail, "Set the clock of this machine. Expiries cannot be checked correctly.")
    : createPassedCheck("clock", detail);
}

/** Checks whether requests used a proxy. `outcome` is the response or error of each address. */
function checkProxy(
  { host: { env } }: Context,
  requests: readonly { readonly address: string; readonly outcome: unknown }[],
): CheckResult {
  const variables = listProxyVariables(env);
  if (variables.length === 0) return createSkippedCheck("proxy", "No proxy is set");
  const proxies = variables.map((name) => `${name} ${parseProxy(env[name]!)?.origin ?? "is not a proxy"}`).join(", ");
  if (requests.length === 0) return createSkippedCheck("proxy", `${proxies}; nothing was sent`);
  const proxyFor = readProxies(env);
  for (const { outcome } of requests) {
    if (!(outcome instanceof ProxyError || outcome instanceof UsageError)) continue;
    const { message, hint } = explainError(outcome);
    return createFailedCheck("proxy", message, toFailureKind(outcome), hint);
  }
  const usedProxies = requests.flatMap(({ address, outcome }) => {
    const proxy = proxyFor(new URL(address));
    return proxy ? [{ address, outcome, through: `${proxy.origin} (${proxy.variable})` }] : [];
  });
  const [first] = usedProxies;
  if (!first)
    return createPassedCheck("proxy", `${proxies}, not used for ${requests.map(({ address }) => address).join(", ")}`);
  const unreachable = usedProxies.find(
    ({ outcome }) => outcome instanceof Error && explainError(outcome).code === "network",
  );
  if (unreachable)
    return createCheckWarning("proxy", `${unreachable.address} did not respond through ${unreachable.through}`);
  return createPassedCheck("proxy", `${first.address} responds through ${first.through}`);
}

const kinds: Readonly<Record<number, FailureKind>> = { 2: "usage", 4: "forbidden", 75: "temporary" };

const toFailureKind = (error: unknown): FailureKind => kinds[explainError(error).exitCode] ?? "failed";

/** Result of one check. `skipped` gives the reason. */
export interface CheckResult {
  readonly check: string;
  readonly status: "ok" | "warning" | "failed" | "skipped";
  readonly detail: string;
  readonly hint?: string | undefined;
  readonly kind?: FailureKind | undefined;
}

const createResult =
  (status: CheckResult["status"]) =>
  (check: string, detail: string, hint?: string): CheckResult => ({ check, status, detail, hint });

export const createPassedCheck = createResult("ok");
export const createCheckWarning = createResult("warning");
export const createSkippedCheck = createResult("skipped");
export const createFailedCheck = (check: string, detail: string, kind: FailureKind, hint?: string): CheckResult => ({
  ...createResult("failed")(check, detail, hint),
  kind,
});
