import { call } from "../api/call.ts";
import { Empty, Head } from "../parts/messages.tsx";
import { useLoaded } from "../state/loaded.ts";
import { href } from "../state/route.ts";

const either = (finding: Promise<string>): Promise<string | undefined> => finding.catch(() => undefined);

/** What a reference may mean that does not say what it is a reference to: a bare number, a token, a name. */
export function Found({ text }: { readonly text: string }) {
  const { value } = useLoaded(text, [], () => find(text));
  const found = value.value;
  return (
    <>
      <Head title={`“${text}”`} about="What it may mean" />
      {found === undefined && <p class="muted">Looking…</p>}
      {found?.length === 0 && (
        <Empty title="Nothing is called so">
          <p>
            T-1 is a contract; delivery:7, request:12, webhook:1 and event:4 are what they say; jo@acme.example is
            routed. Traces are found by their id, contracts, webhooks and snapshots by their names, devices by their
            codes.
          </p>
        </Empty>
      )}
      <ul class="cards">
        {found?.map(({ to, words }) => (
          <li key={to}>
            <a href={to}>{words}</a>
          </li>
        ))}
      </ul>
    </>
  );
}

interface Meaning {
  readonly to: string;
  readonly words: string;
}

async function find(text: string): Promise<readonly Meaning[]> {
  const out: (Meaning | false)[] = [];
  if (/^[1-9]\d{0,14}$/.test(text)) {
    const id = Number(text);
    const [contract, delivery, webhooks, request] = await Promise.all([
      either(
        call("emulator-contracts.show", { params: { id: text } }).then(
          (one) => `${one.composite_id}: ${one.contract_name}`,
        ),
      ),
      either(call("deliveries.show", { params: { id } }).then((one) => `Delivery ${id}: ${one.activity}`)),
      call("emulator-webhooks.list"),
      either(call("traces.show", { params: { ref: `request:${id}` } }).then(() => `Request ${id}`)),
    ]);
    const webhook = webhooks.find((one) => one.id === id);
    out.push(
      contract !== undefined && { to: href("contracts", id), words: contract },
      delivery !== undefined && { to: href("deliveries", id), words: delivery },
      webhook !== undefined && { to: href("timeline", id), words: `Webhook ${id}: ${webhook.title}` },
      request !== undefined && { to: href("requests", id), words: request },
    );
  }
  const [contracts, owners, webhooks, snapshots, devices] = await Promise.all([
    call("emulator-contracts.list", { query: { limit: 500 } }),
    call("owners.list", { query: { identifier: text } }),
    call("emulator-webhooks.list"),
    call("snapshots.list"),
    call("device-grants.list"),
  ]);
  const isMeant = (name: string): boolean => name.toLowerCase().includes(text.toLowerCase());
  out.push(
    ...contracts.items
      .filter(({ contract_name: name }) => isMeant(name))
      .slice(0, 20)
      .map(({ composite_id, contract_name }) => ({
        to: href("contracts", composite_id),
        words: `${composite_id}: ${contract_name}`,
      })),
    ...webhooks
      .filter(({ title, url }) => isMeant(title) || url === text)
      .map(({ id, title }) => ({ to: href("timeline", id), words: `Webhook ${id}: ${title}` })),
    ...snapshots
      .filter(({ name }) => isMeant(name))
      .map(({ name }) => ({ to: href("snapshots", name), words: `Snapshot ${name}` })),
    ...devices
      .filter(({ user_code, client_id }) => isMeant(user_code) || client_id === text)
      .map(({ user_code, client_id }) => ({ to: href("devices"), words: `Device ${user_code} of ${client_id}` })),
    owners.length > 0 && { to: href("routing", text), words: `An identifier of ${owners[0]!.cluster_id}` },
  );
  return out.filter((one) => one !== false);
}
