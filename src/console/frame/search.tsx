import { useLayoutEffect, useRef } from "preact/hooks";
import { callOperation } from "../api/call.ts";
import type { OperationResult } from "../api/operations.ts";
import { revealInvisible, toWords } from "../format.ts";
import { Empty, Head, Icon, Name, ProblemMessage } from "../parts/messages.tsx";
import { useLoaded } from "../state/act.ts";
import type { Webhook } from "../state/deliveries.ts";
import { findRequest } from "../state/requests.ts";
import { buildHref, formatReferenceHref, navigate, route } from "../state/route.ts";
import { focusView } from "./keep-focus.ts";

/**
 * Accepts any reference: a contract, a delivery, a request, a webhook, an address, a token. The input keeps the
 * reference while its result is shown.
 */
export function Search() {
  const { view, id } = route.value;
  const field = useRef<HTMLInputElement>(null);
  // Runs together with its container, because later it would overwrite what the user types.
  useLayoutEffect(() => {
    if (field.current) field.current.value = view === "search" ? (id ?? "") : "";
  }, [view, id]);
  return (
    <search>
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault();
          const ref = field.current?.value.trim() ?? "";
          if (ref === "") return;
          navigate(formatReferenceHref(ref) ?? buildHref("search", ref));
          focusView();
        }}
      >
        <Icon name="search" />
        <input
          ref={field}
          name="ref"
          type="search"
          autocomplete="off"
          spellcheck={false}
          aria-label="Search"
          placeholder="T-1, delivery:7"
        />
      </form>
    </search>
  );
}

const ignoreFailure = <Value,>(finding: Promise<Value>): Promise<Value | undefined> => finding.catch(() => undefined);

/** Lists possible meanings of a reference without a kind: a bare number, a token, a name. */
export function SearchResults({ text }: { readonly text: string }) {
  const { value: found, problem } = useLoaded(text, ["clusters"], () => find(text));
  return (
    <>
      <Head
        title={
          <>
            “<Name>{text}</Name>”
          </>
        }
        about="Search results"
      />
      {problem && <ProblemMessage problem={problem} />}
      {found === undefined && !problem && <p class="muted">Loading…</p>}
      {found?.length === 0 && (
        <Empty title={`No results for “${revealInvisible(text)}”`}>
          <p>
            Search for T-1, delivery:7, request:12, webhook:1, email:3, event:4, a trace ID, an identifier
            (jo@acme.example), the name of a contract, webhook, snapshot or cluster, or the code of a device.
          </p>
        </Empty>
      )}
      <ul class="cards">
        {found?.map(({ to, words }) => (
          <li key={to}>
            <a href={to}>
              <Name>{words}</Name>
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

interface ReferenceCandidate {
  readonly to: string;
  readonly words: string;
}

type Contract = OperationResult<"emulator-contracts.list">["items"][number];

const toContractCandidate = ({
  composite_id: id,
  contract_name: name,
}: Pick<Contract, "composite_id" | "contract_name">) => ({ to: buildHref("contracts", id), words: `${id}: ${name}` });

const toWebhookCandidate = ({ id, title }: Webhook) => ({
  to: buildHref("timeline", id),
  words: `Webhook ${id}: ${title}`,
});

/** Reads a list by its largest pages. */
async function listAll<Row>(
  readPage: (page: { limit: number; offset: number }) => Promise<{ items: readonly Row[]; total: number }>,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (;;) {
    const { items, total } = await readPage({ limit: 500, offset: rows.length });
    rows.push(...items);
    if (items.length === 0 || rows.length >= total) return rows;
  }
}

async function find(text: string): Promise<readonly ReferenceCandidate[]> {
  // Views name a delivery `Delivery 7`.
  const reference = formatReferenceHref(text.toLowerCase().replace(/^([a-z]+) (?=\d+$)/, "$1:"));
  const candidates: (ReferenceCandidate | false)[] = [reference !== undefined && { to: reference, words: text }];
  if (/^[1-9]\d{0,14}$/.test(text)) {
    const id = Number(text);
    const [contract, delivery, webhooks, request] = await Promise.all([
      ignoreFailure(callOperation("emulator-contracts.show", { params: { id: text } })),
      ignoreFailure(callOperation("deliveries.show", { params: { id } })),
      callOperation("emulator-webhooks.list"),
      ignoreFailure(
        findRequest(id).then(
          async (one) => one ?? (await callOperation("traces.show", { params: { ref: `request:${id}` } })),
        ),
      ),
    ]);
    const webhook = webhooks.find((webhook) => webhook.id === id);
    candidates.push(
      contract !== undefined && toContractCandidate(contract),
      delivery !== undefined && {
        to: buildHref("deliveries", id),
        words: `Delivery ${id}: ${toWords(delivery.activity)}`,
      },
      webhook !== undefined && toWebhookCandidate(webhook),
      request !== undefined && { to: buildHref("requests", id), words: `Request ${id}` },
    );
  }
  const email = /^e-?mail[: ] ?([1-9]\d{0,14})$/i.exec(text)?.[1];
  if (email !== undefined) {
    const emails = await listAll((page) => callOperation("emails.list", { query: page }));
    const one = emails.find(({ id }) => id === Number(email));
    if (one) candidates.push({ to: buildHref("emails", one.recipient), words: `E-mail ${email}, to ${one.recipient}` });
  }
  // The contract page shows IDs in this format: `SVC-1`.
  const externalId = /^SVC-([1-9]\d{0,14})$/i.exec(text)?.[1];
  if (externalId !== undefined) {
    const one = await ignoreFailure(callOperation("emulator-contracts.show", { params: { id: externalId } }));
    if (one) candidates.push(toContractCandidate(one));
  }
  const [contracts, owners, webhooks, snapshots, devices, clusters] = await Promise.all([
    listAll((page) => callOperation("emulator-contracts.list", { query: page })),
    callOperation("owners.list", { query: { identifier: text } }),
    callOperation("emulator-webhooks.list"),
    callOperation("snapshots.list"),
    callOperation("device-grants.list"),
    callOperation("emulator.clusters"),
  ]);
  const isMeant = (name: string): boolean => name.toLowerCase().includes(text.toLowerCase());
  candidates.push(
    ...contracts
      .filter(({ contract_name: name }) => isMeant(name))
      .slice(0, 20)
      .map(toContractCandidate),
    ...webhooks.filter(({ title, url }) => isMeant(title) || url === text).map(toWebhookCandidate),
    ...snapshots
      .filter(({ name }) => isMeant(name))
      .map(({ name }) => ({ to: buildHref("snapshots", name), words: `Snapshot ${name}` })),
    ...devices
      .filter(({ user_code, client_id }) => isMeant(user_code) || client_id === text)
      .map(({ user_code, client_id }) => ({
        to: buildHref("devices", user_code),
        words: `Device ${user_code} of ${client_id}`,
      })),
    ...clusters
      .filter(({ id, label }) => isMeant(id) || isMeant(label))
      .map(({ id, label, url }) => ({ to: buildHref("routing", id), words: `Cluster ${id}, ${label}, at ${url}` })),
    owners.length > 0 && { to: buildHref("routing", text), words: `Identifier of ${owners[0]!.cluster_id}` },
  );
  const found = candidates.filter((one) => one !== false);
  return [...new Map(found.map((one) => [one.to, one])).values()];
}
