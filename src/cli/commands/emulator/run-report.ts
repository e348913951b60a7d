import type { Emulator } from "../../../../emulator/index.ts";
import type { listRequests } from "../../../api/emulator/requests.ts";
import type { ResultOf } from "../../../api/operation.ts";
import { pluralize } from "../../../base/pluralize.ts";
import { createClient } from "../../../client/client.ts";
import type { Host } from "../../host.ts";
import { addSummary, markdownCell, printGroup, shouldAnnotate } from "../../output/github-actions.ts";

type Logged = ResultOf<typeof listRequests>["items"][number];

/**
 * What a pipeline's person wants to see of an emulator that served a command: which operations were called, what was
 * refused, what only leniency let through. Under GitHub Actions alone; nothing otherwise.
 */
export async function reportRun(emulator: Emulator, exit: number, host: Host): Promise<void> {
  if (!shouldAnnotate(host.env)) return;
  const [{ createTransport }, { listRequests }, { listDeliveries }] = await Promise.all([
    import("../../../client/transport.ts"),
    import("../../../api/emulator/requests.ts"),
    import("../../../api/emulator/deliveries.ts"),
  ]);
  const client = createClient({
    baseUrls: { emulator: emulator.routerUrl },
    credentials: { controlToken: emulator.token },
    transport: createTransport(),
  });
  try {
    const { items } = await client.call(listRequests, { query: { limit: 10_000 } });
    const requests = items.filter(({ service }) => service !== "emulator");
    const { items: deliveries } = await client.call(listDeliveries, { query: { limit: 500 } });
    const unusual = requests.filter(({ status, findings }) => status >= 400 || status === 0 || findings.length > 0);
    const title = `svc emulator: ${pluralize(requests.length, "request")}, ${unusual.length} rejected or with warnings`;
    await printGroup(host, title, unusual.slice(-200).map(line));
    await addSummary(
      host,
      summary(
        requests,
        deliveries.map(({ outcome }) => outcome),
        exit,
      ),
    );
  } finally {
    await client.close();
  }
}

const line = ({ method, target, status, failure, findings }: Logged): string =>
  [status, method, target, failure, ...findings.map(({ code }) => code)].filter(Boolean).join(" ");

function summary(requests: readonly Logged[], outcomes: readonly string[], exit: number): string {
  const byOperation = new Map<string, readonly Logged[]>();
  for (const request of requests) {
    const name = request.operation ?? "not declared";
    byOperation.set(name, [...(byOperation.get(name) ?? []), request]);
  }
  const rows = [...byOperation].map(([name, all]) => {
    const refused = all.filter(({ status }) => status >= 400 || status === 0).length;
    const findings = [...new Set(all.flatMap((one) => one.findings.map(({ code }) => code)))].join(", ");
    return `| ${[name, String(all.length), String(refused), findings].map(markdownCell).join(" | ")} |\n`;
  });
  const delivered = outcomes.filter((outcome) => outcome === "delivered").length;
  return [
    `### svc emulator exec: exit ${exit}\n\n`,
    `${pluralize(requests.length, "request")}, ${pluralize(outcomes.length, "webhook delivery", "webhook deliveries")} (${delivered} delivered)\n\n`,
    "| Operation | Requests | Refused | Findings |\n| --- | ---: | ---: | --- |\n",
    ...rows,
    "\n",
  ].join("");
}
