import { connection } from "../live/connection.ts";
import { toggleCommand } from "../parts/command-popover.tsx";
import { Icon } from "../parts/icon.tsx";
import { act, commandOf } from "../state/act.ts";
import { whyNot } from "../state/allowed.ts";
import type { Clock } from "../state/clock.ts";

const choices = [
  { words: "stands still", mode: "manual", speed: undefined },
  { words: "passes as here", mode: "real", speed: 1 },
  { words: "a minute a second", mode: "real", speed: 60 },
  { words: "an hour a second", mode: "real", speed: 3_600 },
  { words: "leaps to what is due", mode: "auto", speed: undefined },
] as const;

const fits = (read: Clock, { mode, speed }: (typeof choices)[number]): boolean =>
  read.mode === mode && (speed === undefined || read.speed === speed);

const settings = ({ mode, speed }: (typeof choices)[number]) => ({
  body: { mode, ...(speed === undefined ? {} : { speed }) },
});

/** How virtual time passes, as a choice. */
export function Mode({ read }: { readonly read: Clock }) {
  const chosen = choices.findIndex((choice) => fits(read, choice));
  const current = choices[chosen];
  return (
    <div class="mode">
      <select
        aria-label="How virtual time passes"
        value={String(chosen)}
        disabled={whyNot("clock.set") !== undefined || connection.value === "lost"}
        title={whyNot("clock.set")}
        onChange={({ currentTarget }) => {
          const choice = choices[Number(currentTarget.value)];
          if (choice) void act("clock.set", settings(choice), () => `Time ${choice.words}`);
        }}
      >
        {choices.map((choice, at) => (
          <option key={choice.words} value={String(at)}>
            {choice.words}
          </option>
        ))}
        {chosen < 0 && <option value="-1">{`${read.speed}× as fast`}</option>}
      </select>
      {current && (
        <button
          type="button"
          class="how"
          aria-label="Command for: how virtual time passes"
          onClick={({ currentTarget }) => toggleCommand(commandOf("clock.set", settings(current)), currentTarget)}
        >
          <Icon name="command" />
        </button>
      )}
    </div>
  );
}
