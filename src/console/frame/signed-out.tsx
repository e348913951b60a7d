import { refusal } from "../api/session.ts";
import { Command } from "../parts/command-popover.tsx";
import { Trouble } from "../parts/messages.tsx";

/** Nobody is signed in: how one is. */
export const SignedOut = () => (
  <main class="signed-out">
    <h1>svc console</h1>
    {refusal.value && <Trouble problem={refusal.value} />}
    <p>
      Nobody is signed in here. A session lasts as long as its emulator; this command opens a new one, in the folder in
      which the emulator runs:
    </p>
    <Command text="svc emulator open" />
    <p class="muted">This page goes on by itself then.</p>
  </main>
);
