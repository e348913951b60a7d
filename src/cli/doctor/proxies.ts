import { ProxyTrouble } from "../../client/errors.ts";
import type { Context } from "../command.ts";
import { proxiesOf, proxyOf, proxyVariables } from "../connection/proxies.ts";
import { explain } from "../exit.ts";
import { UsageError } from "../failure.ts";
import { type Finding, failed, ok, skipped, warning } from "./check.ts";
import { verdictOf } from "./trouble.ts";

/** Whether what was asked went through a proxy, and what the proxy did. `came` is what each address gave: an answer or an error. */
export function proxyFinding(
  { host: { env } }: Context,
  asked: readonly { readonly address: string; readonly came: unknown }[],
): Finding {
  const set = proxyVariables(env);
  if (set.length === 0) return skipped("proxy", "None is set");
  const proxies = set.map((name) => `${name} ${proxyOf(env[name]!)?.origin ?? "names no proxy"}`).join(", ");
  if (asked.length === 0) return skipped("proxy", `${proxies}; nothing was sent`);
  const proxyFor = proxiesOf(env);
  for (const { came } of asked) {
    if (!(came instanceof ProxyTrouble || came instanceof UsageError)) continue;
    const { message, hint } = explain(came);
    return failed("proxy", message, verdictOf(came), hint);
  }
  const used = asked.flatMap(({ address, came }) => {
    const proxy = proxyFor(new URL(address));
    return proxy ? [{ address, came, through: `${proxy.origin} (${proxy.variable})` }] : [];
  });
  const [first] = used;
  if (!first) return ok("proxy", `${proxies}, not used for ${asked.map(({ address }) => address).join(", ")}`);
  const silent = used.find(({ came }) => explainsNothing(came));
  if (silent) return warning("proxy", `${silent.address} did not answer through ${silent.through}`);
  return ok("proxy", `${first.address} answers through ${first.through}`);
}

/** No answer came at all: whose fault that is, nobody here can know. */
const explainsNothing = (came: unknown): boolean => came instanceof Error && explain(came).code === "network";
