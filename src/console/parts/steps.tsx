import type { Step } from "../../api/webhook-health/causes.ts";

/** What somebody may do, a line each, with the command where one does it. */
export const Steps = ({ steps }: { readonly steps: readonly Step[] }) => (
  <>
    {steps.map(({ words, command }) => (
      <p key={words} class="muted">
        {words}
        {command && (
          <>
            : <code>{command}</code>
          </>
        )}
      </p>
    ))}
  </>
);
