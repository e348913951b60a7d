import { isSlow } from "../api/slow.ts";
import { connection } from "../live/connection.ts";
import { Command } from "../parts/command-popover.tsx";
import { Icon } from "../parts/icon.tsx";
import { withCode } from "../parts/messages.tsx";
import { State } from "../parts/state.tsx";
import { lastAction, type Outcome } from "../state/act.ts";

/** What was done last, what came of it, and the same as a command. */
export function Foot() {
  const last = lastAction.value;
  const isLost = connection.value !== "live";
  return (
    <footer class="foot">
      <div role="status" class="outcome">
        {isLost && <State tone="warn">{words.get(connection.value)!}</State>}
        {!isLost && isSlow.value && <State tone="warn">The emulator takes its time to answer</State>}
        {last?.state === "running" && <span class="muted">Running…</span>}
        {last?.state === "done" && <Done outcome={last.outcome ?? "Done"} />}
        {last?.state === "failed" && (
          <>
            {!(isLost && last.problem!.isUnreachable) && <State tone="bad">{last.problem!.message}</State>}
            {last.problem!.hint && <span class="muted">{withCode(last.problem!.hint)}</span>}
          </>
        )}
      </div>
      {last ? (
        <Command text={last.command} />
      ) : (
        <p class="muted">
          What a button does, a command does as well: it stands behind the <Icon name="command" /> beside each, and
          here.
        </p>
      )}
    </footer>
  );
}

const Done = ({ outcome }: { readonly outcome: Outcome }) =>
  typeof outcome === "string" ? (
    <State tone="good">{outcome}</State>
  ) : (
    <State tone={outcome.tone}>{outcome.words}</State>
  );

const words = new Map([
  ["connecting", "Connecting…"],
  ["lost", "The emulator does not answer; trying again"],
]);
