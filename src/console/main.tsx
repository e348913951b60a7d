import { effect, untracked } from "@preact/signals";
import { render } from "preact";
import { session, signIn } from "./api/call.ts";
import { App, SignedOut } from "./frame/app.tsx";
import { keepFocus } from "./frame/keep-focus.ts";
import { followEmulator } from "./live/follow.ts";
import { followWebhooks, readAll } from "./state/act.ts";
import { tickDisplayedClock } from "./state/clock.ts";
import { trackAddress } from "./state/route.ts";

await signIn();
trackAddress();
void tickDisplayedClock();

const Page = () => (session.value === undefined ? <SignedOut /> : <App />);
const root = document.getElementById("console")!;
keepFocus(root);
render(<Page />, root);

followWebhooks();
effect(() => {
  if (session.value === undefined) return;
  untracked(followEmulator);
  void untracked(readAll);
});
