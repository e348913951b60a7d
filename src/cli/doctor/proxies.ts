import { ProxyError } from "../../client/errors.ts";
import type { Context } from "../command.ts";
import { parseProxy, proxyVariables, readProxies } from "../connection/proxies.ts";
import { explainError } from "../exit.ts";
import { UsageError } from "../failure.ts";
import { type CheckResult, failed, ok, skipped, warning } from "./check.ts";
import { failureKindOf } from "./failure-kind.ts";

/** Whether what was sent went through a proxy, and what the proxy did. `outcome` is what each address gave: an answer or an error. */
export function proxyFinding(
  { host: { env } }: Context,
  sent: readonly { readonly address: string; readonly outcome: unknown }[],
): CheckResult {
  const set = proxyVariables(env);
  if (set.length === 0) return skipped("proxy", "No proxy is set");
  const proxies = set.map((name) => `${name} ${parseProxy(env[name]!)?.origin ?? "is not a proxy"}`).join(", ");
  if (sent.length === 0) return skipped("proxy", `${proxies}; nothing was sent`);
  const proxyFor = readProxies(env);
  for (const { outcome } of sent) {
    if (!(outcome instanceof ProxyError || outcome instanceof UsageError)) continue;
    const { message, hint } = explainError(outcome);
    return failed("proxy", message, failureKindOf(outcome), hint);
  }
  const used = sent.flatMap(({ address, outcome }) => {
    const proxy = proxyFor(new URL(address));
    return proxy ? [{ address, outcome, through: `${proxy.origin} (${proxy.variable})` }] : [];
  });
  const [first] = used;
  if (!first) return ok("proxy", `${proxies}, not used for ${sent.map(({ address }) => address).join(", ")}`);
  const silent = used.find(({ outcome }) => explainsNothing(outcome));
  if (silent) return warning("proxy", `${silent.address} did not respond through ${silent.through}`);
  return ok("proxy", `${first.address} responds through ${first.through}`);
}

/** No answer came at all: whose fault that is, nobody here can know. */
const explainsNothing = (outcome: unknown): boolean =>
  outcome instanceof Error && explainError(outcome).code === "network";
