import { useSignal } from "@preact/signals";
import { callOperation } from "../api/call.ts";
import { pluralize } from "../format.ts";
import { Action, pressAction, type Question } from "../parts/action.tsx";
import { Command } from "../parts/copy.tsx";
import { VirtualTime } from "../parts/labels.tsx";
import { Empty, Head, NotListedMessage, ProblemMessage } from "../parts/messages.tsx";
import { useLoaded } from "../state/act.ts";
import { href } from "../state/route.ts";

const allowed = /^(?!before-\d+$)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/i;

/** Why a name is none. */
const complaint = (name: string): string =>
  /^before-\d+$/i.test(name)
    ? "before-1 and so on are names that the emulator gives."
    : name.length > 64
      ? "A name has at most 64 characters."
      : "A name has letters, digits, dots, dashes and underscores, and begins with a letter or a digit.";

const replacing = (name: string): Question => ({
  title: `Replace ${name}?`,
  consequence: `There is a snapshot ${name} already. Nobody can go back to what it keeps then.`,
  yes: `Replace ${name}`,
});

/** Kept states: save, go back, and what is different. */
export function Snapshots({ name }: { readonly name: string | undefined }) {
  const { value, problem } = useLoaded("", ["snapshots"], () => callOperation("snapshots.list"));
  const typed = useSignal("");
  const snapshots = value.value;
  const isMissing = name !== undefined && snapshots?.every((one) => one.name !== name);
  const isThere = snapshots?.some((one) => one.name === typed.value) === true;
  const misnamed = typed.value === "" || allowed.test(typed.value) ? undefined : complaint(typed.value);
  return (
    <>
      <Head
        title="Snapshots"
        about="The whole state under a name: contracts, webhooks, virtual time and what is scheduled."
      >
        <form class="inline" aria-label="Keep the state" onSubmit={pressAction}>
          <input
            aria-label="Name of the snapshot"
            placeholder="prepared"
            value={typed.value}
            aria-invalid={misnamed !== undefined}
            aria-describedby={misnamed && "misnamed"}
            onInput={({ currentTarget }) => {
              typed.value = currentTarget.value;
            }}
          />
          <Action
            op="snapshots.save"
            input={{ params: { name: typed.value }, query: { replace: isThere || undefined } }}
            kind="primary"
            ask={isThere ? replacing(typed.value) : undefined}
            disabled={!allowed.test(typed.value)}
            message={(saved) => `Kept as ${saved.name}`}
            done={() => {
              typed.value = "";
            }}
          >
            Keep the state
          </Action>
          {misnamed && (
            <p id="misnamed" class="invalid" role="status">
              {misnamed}
            </p>
          )}
        </form>
      </Head>
      {problem.value && <ProblemMessage problem={problem.value} />}
      {isMissing && <NotListedMessage what={`snapshot ${name}`} all="snapshots" />}
      {snapshots?.length === 0 && !isMissing && (
        <Empty title="Nothing is kept">
          Keep the state before you try something, then come back to it as often as you like.
        </Empty>
      )}
      <ul class="cards">
        {snapshots?.map((one) => (
          <li key={one.name} class={one.name === name ? "chosen" : ""}>
            <div class="who">
              <strong class="break">{one.name}</strong>
              <span class="muted">
                {one.at === null ? (
                  "damaged"
                ) : (
                  <>
                    virtual time <VirtualTime at={one.at} />
                  </>
                )}{" "}
                · {Math.ceil(one.bytes / 1_024)} KiB
              </span>
            </div>
            <div class="actions">
              <a
                class="button"
                href={one.name === name ? href("snapshots") : href("snapshots", one.name)}
                aria-label={
                  one.name === name
                    ? `Hide what is different since ${one.name}`
                    : `What is different? Since ${one.name}`
                }
              >
                {one.name === name ? "Hide what is different" : "What is different?"}
              </a>
              <Action
                op="snapshots.restore"
                input={{ params: { name: one.name } }}
                name={`Go back to ${one.name}`}
                message={({ backup_snapshot }) =>
                  backup_snapshot === null ? "It was the same" : `What was left is kept as ${backup_snapshot}`
                }
              >
                Go back
              </Action>
              <Action
                op="snapshots.remove"
                input={{ params: { name: one.name } }}
                kind="danger"
                name={`Remove ${one.name}`}
                message={() => `${one.name} is removed`}
                ask={{
                  title: `Remove ${one.name}?`,
                  consequence: "Nobody can go back to it then. The present state stays as it is.",
                  yes: `Remove ${one.name}`,
                }}
              >
                Remove
              </Action>
            </div>
            {one.name === name && <Diff name={one.name} />}
          </li>
        ))}
      </ul>
    </>
  );
}

const most = 200;

/** What is different between a snapshot and the present state: words first, fields below. */
function Diff({ name }: { readonly name: string }) {
  const { value, problem } = useLoaded(name, ["snapshots", "contracts", "deliveries", "clock"], () =>
    callOperation("snapshots.diff", { params: { name }, query: { most } }),
  );
  const diff = value.value;
  if (problem.value) return <ProblemMessage problem={problem.value} />;
  if (!diff) return <p class="muted">Comparing…</p>;
  return (
    <div class="diff">
      <p>{diff.same ? "Nothing is different." : `${pluralize(diff.total, "difference")} since ${name}:`}</p>
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
