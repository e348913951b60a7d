import { useSignal } from "@preact/signals";
import { callOperation } from "../api/call.ts";
import { pluralize } from "../format.ts";
import { Action, Command, pressAction, type Question } from "../parts/action.tsx";
import {
  bindValue,
  Empty,
  Head,
  markChosen,
  NotListedMessage,
  ProblemMessage,
  VirtualTime,
} from "../parts/messages.tsx";
import { useLoaded } from "../state/act.ts";
import { buildHref } from "../state/route.ts";

const namePattern = /^(?!before-\d+$)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/i;

const describeInvalidName = (name: string): string =>
  /^before-\d+$/i.test(name)
    ? "Names such as before-1 are reserved for the emulator."
    : name.length > 64
      ? "The name must have at most 64 characters."
      : "The name must be letters, digits, dots, dashes and underscores, and begin with a letter or a digit.";

const askToReplace = (name: string): Question => ({
  title: `Replace ${name}?`,
  consequence: `Snapshot ${name} already exists. Its content will be lost.`,
  confirmLabel: `Replace ${name}`,
});

export function Snapshots({ name }: { readonly name: string | undefined }) {
  const { value: snapshots, problem } = useLoaded("", ["snapshots"], () => callOperation("snapshots.list"));
  const typed = useSignal("");
  const isMissing = name !== undefined && snapshots?.every((snapshot) => snapshot.name !== name);
  const doesExist = snapshots?.some((snapshot) => snapshot.name === typed.value) === true;
  const nameProblem =
    typed.value === "" || namePattern.test(typed.value) ? undefined : describeInvalidName(typed.value);
  return (
    <>
      <Head title="Snapshots" about="Saved states: contracts, webhooks, virtual time and scheduled jobs.">
        <form class="inline" aria-label="Save snapshot" onSubmit={pressAction}>
          <input
            aria-label="Name of the snapshot"
            placeholder="prepared"
            {...bindValue(typed)}
            aria-invalid={nameProblem !== undefined}
            aria-describedby={nameProblem && "misnamed"}
          />
          <Action
            op="snapshots.save"
            input={{ params: { name: typed.value || "prepared" }, query: { replace: doesExist || undefined } }}
            kind="primary"
            question={doesExist ? askToReplace(typed.value) : undefined}
            disabled={!namePattern.test(typed.value)}
            describe={(saved) => `Saved as ${saved.name}`}
            onDone={() => {
              typed.value = "";
            }}
          >
            Save snapshot
          </Action>
          {nameProblem && (
            <p id="misnamed" class="invalid" role="status">
              {nameProblem}
            </p>
          )}
        </form>
      </Head>
      {problem && <ProblemMessage problem={problem} />}
      {isMissing && <NotListedMessage subject={`snapshot ${name}`} all="snapshots" />}
      {snapshots?.length === 0 && !isMissing && (
        <Empty title="No snapshots">Save the state before you try something, then restore it at any time.</Empty>
      )}
      <ul class="cards">
        {snapshots?.map((snapshot) => (
          <li key={snapshot.name} {...markChosen(snapshot.name === name)}>
            <div class="who">
              <strong>{snapshot.name}</strong>
              <span class="muted">
                {snapshot.at === null ? (
                  "damaged"
                ) : (
                  <>
                    virtual time <VirtualTime at={snapshot.at} />
                  </>
                )}{" "}
                · {Math.ceil(snapshot.bytes / 1_024)} KiB
              </span>
            </div>
            <div class="actions">
              <a
                class="button"
                href={snapshot.name === name ? buildHref("snapshots") : buildHref("snapshots", snapshot.name)}
                aria-label={
                  snapshot.name === name ? `Hide changes since ${snapshot.name}` : `Show changes since ${snapshot.name}`
                }
              >
                {snapshot.name === name ? "Hide changes" : "Show changes"}
              </a>
              <Action
                op="snapshots.restore"
                input={{ params: { name: snapshot.name } }}
                name={`Restore ${snapshot.name}`}
                describe={({ backup_snapshot }) =>
                  backup_snapshot === null
                    ? "The state is unchanged"
                    : `Restored. The previous state is saved as ${backup_snapshot}`
                }
              >
                Restore
              </Action>
              <Action
                op="snapshots.remove"
                input={{ params: { name: snapshot.name } }}
                kind="danger"
                name={`Remove ${snapshot.name}`}
                describe={() => `${snapshot.name} removed`}
                question={{
                  title: `Remove ${snapshot.name}?`,
                  consequence: "It can no longer be restored. The current state is not affected.",
                  confirmLabel: `Remove ${snapshot.name}`,
                }}
              >
                Remove
              </Action>
            </div>
            {snapshot.name === name && <Diff name={snapshot.name} />}
          </li>
        ))}
      </ul>
    </>
  );
}

const maxDifferences = 200;

/** Shows the differences between a snapshot and the current state: descriptions first, fields below. */
function Diff({ name }: { readonly name: string }) {
  const { value: diff, problem } = useLoaded(name, ["snapshots", "contracts", "deliveries", "clock"], () =>
    callOperation("snapshots.diff", { params: { name }, query: { limit: maxDifferences } }),
  );
  if (problem) return <ProblemMessage problem={problem} />;
  if (!diff) return <p class="muted">Comparing…</p>;
  return (
    <div class="diff">
      <p>{diff.same ? "No differences." : `${pluralize(diff.total, "difference")} since ${name}:`}</p>
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
      {diff.total > diff.items.length && <p class="muted">The first {maxDifferences} are shown.</p>}
      <Command text={`svc emulator snapshot diff ${name}`} />
    </div>
  );
}
