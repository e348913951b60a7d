import { useSignal } from "@preact/signals";
import { callOperation } from "../api/call.ts";
import { toWords } from "../format.ts";
import { Command } from "../parts/action.tsx";
import { bindValue, Empty, Head, ProblemMessage } from "../parts/messages.tsx";
import { formatCommand, useLoaded } from "../state/act.ts";
import { buildHref, navigate } from "../state/route.ts";

/** Shows the cluster of an identifier, and the routing table that maps it. */
export function Routing({ identifier }: { readonly identifier: string | undefined }) {
  const inputValue = useSignal(identifier ?? "");
  return (
    <>
      <Head title="Routing" about="Find the cluster of an identifier, and the table that maps it." />
      <form
        class="inline wide"
        aria-label="Find the cluster"
        onSubmit={(event) => {
          event.preventDefault();
          if (inputValue.value.trim() !== "") navigate(buildHref("routing", inputValue.value.trim()));
        }}
      >
        <input
          aria-label="Identifier"
          placeholder="ada@northwind.example, a client ID, a token, a team, a hash"
          {...bindValue(inputValue)}
        />
        <button type="submit">Find cluster</button>
      </form>
      {identifier !== undefined && <Owners identifier={identifier} />}
      <Clusters />
    </>
  );
}

function Owners({ identifier }: { readonly identifier: string }) {
  const { value: owners, problem } = useLoaded(identifier, ["requests", "contracts"], () =>
    callOperation("owners.list", { query: { identifier } }),
  );
  if (problem) return <ProblemMessage problem={problem} />;
  if (!owners) return <p class="muted">Loading…</p>;
  const clusters = [...new Set(owners.map(({ cluster_id }) => cluster_id))];
  return (
    <>
      {owners.length === 0 ? (
        <Empty title="No cluster found">
          No routing table has this identifier. The router asks every cluster, or rejects the request.
        </Empty>
      ) : (
        <div class={`verdict ${clusters.length === 1 ? "good" : "warn"}`}>
          <p>
            <strong>{identifier}</strong> → <strong>{clusters.join(", ")}</strong>
          </p>
          <ul>
            {owners.map(({ table, key, cluster_id }) => (
              <li key={`${table} ${key} ${cluster_id}`}>
                {toWords(table)} maps <code>{key}</code> to {cluster_id}
              </li>
            ))}
          </ul>
        </div>
      )}
      <Command text={formatCommand("owners.list", { query: { identifier } })} />
      {identifier.includes("@") && <a href={buildHref("emails", identifier)}>E-mails to {identifier}</a>}
    </>
  );
}

function Clusters() {
  const { value: clusters } = useLoaded("clusters", ["clusters"], () => callOperation("emulator.clusters"));
  return (
    <>
      <h2>Clusters</h2>
      <ul class="cards">
        {clusters?.map(({ id, label, url, external }) => (
          <li key={id}>
            <div class="who">
              <strong>
                {id} <span class="muted">{label}</span>
              </strong>
              <code>{url}</code>
            </div>
            {external && <span class="muted">external backend</span>}
          </li>
        ))}
      </ul>
    </>
  );
}
