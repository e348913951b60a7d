import { call } from "../api/call.ts";
import { counted } from "../format.ts";
import { Command } from "../parts/command-popover.tsx";
import { Trouble } from "../parts/messages.tsx";
import { useLoaded } from "../state/loaded.ts";

const most = 200;

/** What is different between a snapshot and the present state: words first, fields below. */
export function Diff({ name }: { readonly name: string }) {
  const { value, problem } = useLoaded(name, ["snapshots", "contracts", "deliveries", "clock"], () =>
    call("snapshots.diff", { params: { name }, query: { most } }),
  );
  const diff = value.value;
  if (problem.value) return <Trouble problem={problem.value} />;
  if (!diff) return <p class="muted">Comparing…</p>;
  return (
    <div class="diff">
      <p>{diff.same ? "Nothing is different." : `${counted(diff.total, "difference")} since ${name}:`}</p>
      <ul>
        {diff.items.map(({ what, collection, key, change, fields }) => (
          <li key={`${collection} ${key} ${what}`} class={change}>
            {fields.length === 0 ? (
              what
            ) : (
              <details>
                <summary>{what}</summary>
                <dl>
                  {fields.map(({ field, from, to }) => (
                    <div key={field}>
                      <dt>
                        <code>{field}</code>
                      </dt>
                      <dd>
                        {from !== undefined && <del>{JSON.stringify(from)}</del>}{" "}
                        {to !== undefined && <ins>{JSON.stringify(to)}</ins>}
                      </dd>
                    </div>
                  ))}
                </dl>
              </details>
            )}
          </li>
        ))}
      </ul>
      {diff.total > diff.items.length && <p class="muted">The first {most} are shown.</p>}
      <Command text={`svc emulator snapshot diff ${name}`} />
    </div>
  );
}
