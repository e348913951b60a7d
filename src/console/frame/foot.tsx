import { connection } from "../live/connection.ts";
import { Command } from "../parts/command-popover.tsx";
import { Icon } from "../parts/icon.tsx";
import { withCode } from "../parts/messages.tsx";
import { State } from "../parts/state.tsx";
import { lastAction } from "../state/act.ts";

/** What was done last, what came of it, and the same as a command. */
export function Foot() {
  const last = lastAction.value;
  return (
    <footer class="foot">
      <div role="status" class="outcome">
        {connection.value !== "live" && <State tone="warn">{words.get(connection.value)!}</State>}
        {last?.state === "running" && <span class="muted">Running…</span>}
        {last?.state === "done" && <State tone="good">{last.words ?? "Done"}</State>}
        {last?.state === "failed" && (
          <>
            <State tone="bad">{last.problem!.message}</State>
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

const words = new Map([
  ["connecting", "Connecting…"],
  ["lost", "The emulator does not answer; trying again"],
]);
