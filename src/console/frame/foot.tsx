import { Problem } from "../api/problem.ts";
import { isSlow } from "../api/slow.ts";
import { connection } from "../live/connection.ts";
import { Command } from "../parts/command-popover.tsx";
import { Icon } from "../parts/icon.tsx";
import { withCode } from "../parts/messages.tsx";
import { State } from "../parts/state.tsx";
import { lastAction, type Outcome, type Performed } from "../state/act.ts";

/** What was done last, what came of it, and the same as a command; while nothing answers, that alone. */
export function Foot() {
  const last = lastAction.value;
  const now = connection.value;
  return (
    <footer class={`foot ${now === "live" && !last && !isSlow.value ? "" : "news"}`}>
      <div role="status" class="outcome">
        {now === "lost" && <Lost />}
        {now === "connecting" && <State tone="warn">Connecting…</State>}
        {now === "live" && isSlow.value && <State tone="warn">The emulator takes its time to answer</State>}
        {now !== "lost" && last && <What {...last} />}
      </div>
      {now === "lost" ? null : last ? (
        last.command && <Command text={last.command} />
      ) : (
        <p class="muted">
          What a button does, a command does as well: it stands behind the <Icon name="command" /> beside each, and
          here.
        </p>
      )}
    </footer>
  );
}

const Lost = () => (
  <>
    <State tone="warn">The emulator does not answer; trying again</State>
    <span class="muted">{Problem.unreachable().hint}</span>
  </>
);

function What({ state, outcome, problem }: Performed) {
  switch (state) {
    case "running":
      return <span class="muted">Running…</span>;
    case "done":
      return <Done outcome={outcome ?? "Done"} />;
    case "failed":
      return (
        <>
          <State tone="bad">{problem!.message}</State>
          {problem!.hint && <span class="muted">{withCode(problem!.hint)}</span>}
        </>
      );
  }
}

const Done = ({ outcome }: { readonly outcome: Outcome }) =>
  typeof outcome === "string" ? (
    <State tone="good">{outcome}</State>
  ) : (
    <State tone={outcome.tone}>{outcome.words}</State>
  );
