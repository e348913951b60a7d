import { effect, untracked } from "@preact/signals";
import { render } from "preact";
import { session, signIn } from "./api/session.ts";
import { App, SignedOut } from "./frame/app.tsx";
import { keepFocus } from "./frame/keep-focus.ts";

import { follow } from "./live/follow.ts";
import { followWebhooks, readAll } from "./state/act.ts";
import { letTimePass } from "./state/clock.ts";
import { followAddress } from "./state/route.ts";

await signIn();
followAddress();
void letTimePass();

const Page = () => (session.value === undefined ? <SignedOut /> : <App />);
const root = document.getElementById("console")!;
keepFocus(root);
render(<Page />, root);

followWebhooks();
effect(() => {
  if (session.value === undefined) return;
  follow();
  untracked(readAll);
});
